// The items of a run by what became of them, each beside what was there before.
export default {
  props: { groups: Array, busy: Boolean },
  emits: ["decide"],
  template: `
  <div class="mb-changes">
    <section v-for="group in groups" :key="group.title" :aria-label="group.title">
      <h3>{{ group.title }} <span class="mb-muted mb-number">{{ group.rows.length }}</span></h3>
      <ol><li v-for="row in group.rows" :key="row.place" :data-place="row.place" tabindex="-1" :class="'mb-change-' + (row.kind || 'plain')">
        <div class="mb-change-head">
          <span :class="['mb-chip', row.kind && 'mb-chip-' + row.kind]">{{ row.label }}</span>
          <span class="mb-small mb-muted">{{ row.type }}</span>
          <a v-if="row.memory" :href="row.memory.href" class="mb-chip">{{ row.memory.ref }}</a>
          <span v-if="row.about" class="mb-about" dir="auto"><b>{{ row.about }}</b></span>
        </div>
        <p v-if="row.was" class="mb-was mb-words" dir="auto"><span class="mb-unseen">Before: </span><del>{{ row.was }}</del> <a v-if="row.replaced" :href="row.replaced.href" class="mb-chip">{{ row.replaced.ref }}</a></p>
        <p class="mb-words" dir="auto"><span v-if="row.was" class="mb-muted" aria-hidden="true">→ </span>{{ row.words }}<span v-if="row.on" class="mb-muted"> (on {{ row.on }})</span></p>
        <p v-if="row.why" class="mb-no mb-small" dir="auto">{{ row.why }}</p>
        <div v-if="row.evidence.length || row.decides" class="mb-change-foot">
          <span v-if="row.evidence.length" class="mb-small mb-muted">from <a v-for="one in row.evidence" :key="one.ref" :href="one.href" class="mb-chip mb-chip-episode">{{ one.ref }}</a></span>
          <span v-if="row.decides" class="mb-line mb-decide">
            <button v-if="row.decision !== 'approved'" type="button" class="mb-quiet" :disabled="busy" :aria-label="'Approve: ' + row.words.slice(0, 60)" @click="$emit('decide', { place: row.place, how: 'approve' })">Approve</button>
            <button v-if="row.decision !== 'rejected'" type="button" class="mb-quiet mb-quiet-bad" :disabled="busy" :aria-label="'Reject: ' + row.words.slice(0, 60)" @click="$emit('decide', { place: row.place, how: 'reject' })">Reject</button></span>
        </div>
      </li></ol>
    </section>
  </div>`,
};
