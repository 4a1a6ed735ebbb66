// Episodes that consolidation could not process: text, reason, and a button to requeue them.
import { exact, short } from "/dashboard/dates.js";

export default {
  props: { rows: Array, next: String, has_previous: Boolean, can_requeue: Boolean, busy: Boolean },
  emits: ["requeue", "page"],
  template: `
  <div>
    <p v-if="!rows.length" class="mb-muted mb-empty-text">No failed episodes.</p>
    <ul v-else class="mb-dead-letters"><li v-for="row in rows" :key="row.ref">
      <div class="mb-result-head"><a :href="row.href" class="mb-chip mb-chip-episode">{{ row.ref }}</a>
        <span class="mb-muted mb-small" dir="auto">{{ row.butler }} · <time :datetime="row.at"
          :title="exact(row.at)">{{ short(row.at) }}</time> · failed after {{ row.attempts }}</span>
        <button v-if="can_requeue" type="button" class="mb-button-small mb-result-score" :disabled="busy"
          :aria-label="'Requeue ' + row.ref" @click="$emit('requeue', [row.ref])">Requeue</button></div>
      <p class="mb-text mb-clamp" dir="auto">{{ row.text }}</p>
      <p class="mb-negative mb-small" dir="auto">{{ row.reason }}</p>
    </li></ul>
    <div v-if="has_previous || next || (can_requeue && rows.length > 1)" class="mb-line mb-paging">
      <button v-if="can_requeue && rows.length > 1" type="button" class="mb-button-small" :disabled="busy"
        @click="$emit('requeue', rows.map((row) => row.ref))">Requeue all {{ rows.length }}</button>
      <span class="mb-grow"></span>
      <button v-if="has_previous" type="button" class="mb-button-small" @click="$emit('page', '')">Oldest</button>
      <button v-if="next" type="button" class="mb-button-small" @click="$emit('page', next)">More</button></div>
  </div>`,
  methods: {
    short,
    exact,
  },
};
