// Runs of consolidation, the newest first, with what each came to.
const short = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

export default {
  props: { rows: Array, butlers: Array, states: Array, butler: String, state: String, next: String, later: Boolean, empty: String },
  emits: ["filter", "turn"],
  template: `
  <div>
    <div class="mb-line mb-run-filters">
      <label><span class="mb-unseen">Butler</span><select class="mb-input" :value="butler" @change="$emit('filter', { butler: $event.target.value, state })">
        <option value="">Every butler</option><option v-for="one in butlers" :key="one" :value="one">{{ one }}</option></select></label>
      <label><span class="mb-unseen">State</span><select class="mb-input" :value="state" @change="$emit('filter', { butler, state: $event.target.value })">
        <option value="">Every state</option><option v-for="one in states" :key="one.name" :value="one.name">{{ one.label }}</option></select></label>
    </div>
    <p v-if="!rows.length" class="mb-muted mb-nothing">{{ empty }}</p>
    <table v-else class="mb-table mb-runs">
      <thead><tr><th>When</th><th>Butler</th><th>State</th><th>What came of it</th><th>Cost</th></tr></thead>
      <tbody><tr v-for="row in rows" :key="row.id">
        <td><a :href="row.href"><time :datetime="row.at" :title="exact(row.at)">{{ short(row.at) }}</time></a></td>
        <td dir="auto">{{ row.butler }}</td>
        <td><span :class="['mb-chip', row.kind && 'mb-chip-' + row.kind]">{{ row.state }}</span> <span v-if="row.undone" class="mb-chip">taken back</span></td>
        <td><span class="mb-muted">{{ row.episodes }}{{ row.outcomes.length || row.nothing || row.error ? ":" : "" }}</span> <span v-for="one in row.outcomes" :key="one.label" :class="['mb-chip', one.kind && 'mb-chip-' + one.kind]">{{ one.label }}</span>
          <span v-if="row.nothing" class="mb-muted">nothing worth keeping</span>
          <span v-if="row.error" class="mb-small mb-no mb-one-line" dir="auto" :title="row.error">{{ row.error }}</span></td>
        <td :class="['mb-number', 'mb-small', !row.cost && 'mb-free']">{{ row.cost || "–" }}</td>
      </tr></tbody></table>
    <div v-if="later || next" class="mb-line mb-turn">
      <button v-if="later" type="button" class="mb-quiet" @click="$emit('turn', '')">Newest</button>
      <button v-if="next" type="button" class="mb-quiet" @click="$emit('turn', next)">Older</button></div>
  </div>`,
  methods: { short(at) { return short.format(new Date(at)); }, exact(at) { return exact.format(new Date(at)); } },
};
