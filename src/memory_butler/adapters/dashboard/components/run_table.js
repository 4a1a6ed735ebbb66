// Consolidation runs, newest first, with their outcomes.
import { exact, short } from "/dashboard/dates.js";

export default {
  props: {
    rows: Array,
    butlers: Array,
    states: Array,
    butler: String,
    state: String,
    next: String,
    has_newer: Boolean,
    empty: String,
  },
  emits: ["filter", "page"],
  template: `
  <div>
    <div class="mb-line mb-run-filters">
      <label><span class="mb-visually-hidden">Butler</span><select class="mb-input" :value="butler"
        @change="$emit('filter', { butler: $event.target.value, state })">
        <option value="">All butlers</option><option v-for="name in butlers" :key="name" :value="name">{{ name
        }}</option></select></label>
      <label><span class="mb-visually-hidden">State</span><select class="mb-input" :value="state"
        @change="$emit('filter', { butler, state: $event.target.value })">
        <option value="">All states</option><option v-for="choice in states" :key="choice.name" :value="choice.name">{{
        choice.label }}</option></select></label>
    </div>
    <p v-if="!rows.length" class="mb-muted mb-empty-text">{{ empty }}</p>
    <table v-else class="mb-table mb-runs">
      <thead><tr><th>Time</th><th>Butler</th><th>State</th><th>Result</th><th>Cost</th></tr></thead>
      <tbody><tr v-for="row in rows" :key="row.id">
        <td><a :href="row.href"><time :datetime="row.at" :title="exact(row.at)">{{ short(row.at) }}</time></a></td>
        <td dir="auto">{{ row.butler }}</td>
        <td><span :class="['mb-chip', row.kind && 'mb-chip-' + row.kind]">{{ row.state }}</span> <span v-if="row.undone"
          class="mb-chip">undone</span></td>
        <td><span class="mb-muted">{{ row.episodes }}{{ row.outcomes.length || row.nothing || row.error ? ":" : ""
          }}</span> <span v-for="outcome in row.outcomes" :key="outcome.label"
          :class="['mb-chip', outcome.kind && 'mb-chip-' + outcome.kind]">{{ outcome.label }}</span>
          <span v-if="row.nothing" class="mb-muted">nothing to store</span>
          <span v-if="row.error" class="mb-small mb-negative mb-one-line" dir="auto" :title="row.error">{{ row.error
            }}</span></td>
        <td :class="['mb-number', 'mb-small', !row.cost && 'mb-no-cost']">{{ row.cost || "–" }}</td>
      </tr></tbody></table>
    <div v-if="has_newer || next" class="mb-line mb-paging">
      <button v-if="has_newer" type="button" class="mb-button-small" @click="$emit('page', '')">Newest</button>
      <button v-if="next" type="button" class="mb-button-small" @click="$emit('page', next)">Older</button></div>
  </div>`,
  methods: {
    short,
    exact,
  },
};
