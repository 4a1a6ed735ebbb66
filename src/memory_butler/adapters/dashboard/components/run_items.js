// The items of a run grouped by outcome, each beside the text it replaces.
export default {
  props: { groups: Array, busy: Boolean },
  emits: ["decide"],
  template: `
  <div class="mb-changes">
    <section v-for="group in groups" :key="group.title" :aria-label="group.title">
      <h3>{{ group.title }} <span class="mb-muted mb-number">{{ group.rows.length }}</span></h3>
      <ol><li v-for="row in group.rows" :key="row.place" :data-place="row.place" tabindex="-1"
        :class="'mb-change-' + (row.kind || 'plain')">
        <div class="mb-change-head">
          <span :class="['mb-chip', row.kind && 'mb-chip-' + row.kind]">{{ row.label }}</span>
          <span class="mb-small mb-muted">{{ row.type }}</span>
          <a v-if="row.memory" :href="row.memory.href" class="mb-chip">{{ row.memory.ref }}</a>
          <span v-if="row.about" class="mb-about" dir="auto"><b>{{ row.about }}</b></span>
        </div>
        <p v-if="row.old_text" class="mb-old-text mb-text" dir="auto"><span
          class="mb-visually-hidden">Before: </span><del>{{
          row.old_text }}</del> <a v-if="row.replaced" :href="row.replaced.href" class="mb-chip">{{ row.replaced.ref
          }}</a></p>
        <p class="mb-text" dir="auto"><span v-if="row.old_text" class="mb-muted" aria-hidden="true">→ </span>{{ row.text
          }}<span v-if="row.date" class="mb-muted"> (on {{ row.date }})</span></p>
        <p v-if="row.reason" class="mb-negative mb-small" dir="auto">{{ row.reason }}</p>
        <div v-if="row.evidence.length || row.can_decide" class="mb-change-foot">
          <span v-if="row.evidence.length" class="mb-small mb-muted">from <a v-for="source in row.evidence"
            :key="source.ref" :href="source.href" class="mb-chip mb-chip-episode">{{ source.ref }}</a></span>
          <span v-if="row.can_decide" class="mb-line mb-review-buttons">
            <button v-if="row.decision !== 'approved'" type="button" class="mb-button-small" :disabled="busy"
              :aria-label="'Approve: ' + row.text.slice(0, 60)"
              @click="$emit('decide', { place: row.place, decision: 'approve' })">Approve</button>
            <button v-if="row.decision !== 'rejected'" type="button" class="mb-button-small mb-button-danger"
              :disabled="busy" :aria-label="'Reject: ' + row.text.slice(0, 60)"
              @click="$emit('decide', { place: row.place, decision: 'reject' })">Reject</button></span>
        </div>
      </li></ol>
    </section>
  </div>`,
};
