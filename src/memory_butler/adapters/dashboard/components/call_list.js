// Calls of agents, newest first, with filters. A choice applies at once, typed text after a pause.
import { exact, short } from "/dashboard/dates.js";

const DEBOUNCE_MS = 350;
const FEW = 4;
const EMPTY = { kind: "", butler: "", client: "", answered: "", q: "" };

export default {
  props: { query: Object, rows: Array, butlers: Array, clients: Array, older: Boolean, empty: String },
  emits: ["filter", "older"],
  data() {
    return { ...EMPTY, ...this.query, timer: null, open: {}, FEW };
  },
  watch: {
    query(query) {
      Object.assign(this, EMPTY, query);
    },
  },
  template: `
  <form class="mb-card mb-timeline-filters" role="search" aria-label="Filter the calls" @submit.prevent="change">
    <label><span class="mb-label">Prompt contains</span><input v-model="q" type="search" maxlength="300"
      placeholder="Any" @input="changeLater"></label>
    <label><span class="mb-label">Call</span><select v-model="kind" @change="change"><option value="">Any</option>
      <option value="briefing">Briefings</option><option value="search">Searches</option></select></label>
    <label><span class="mb-label">Butler</span><select v-model="butler" @change="change"><option value="">Any</option>
      <option v-for="one in butlers" :key="one">{{ one }}</option></select></label>
    <label><span class="mb-label">Program</span><select v-model="client" @change="change"><option value="">Any</option>
      <option v-for="one in clients" :key="one">{{ one }}</option></select></label>
    <label><span class="mb-label">Answer</span><select v-model="answered" @change="change"><option value="">Any</option>
      <option value="yes">Returned memories</option><option value="no">Returned nothing</option></select></label>
    <button v-if="isFiltered" type="button" class="mb-button-outline mb-small" @click="clear">Clear filters</button>
  </form>
  <section class="mb-card" aria-label="Calls">
    <p v-if="!rows.length" class="mb-muted">{{ empty }}</p>
    <ol class="mb-calls">
      <li v-for="row in rows" :key="row.id" :class="{ 'mb-call-unanswered': !row.memories.length }">
        <div class="mb-call-head mb-small mb-muted">
          <time :datetime="row.at" :title="exact(row.at)">{{ short(row.at) }}</time>
          <span class="mb-chip mb-chip-info">{{ row.kind
            }}</span>
          <span dir="auto">{{ row.butler }} · {{ row.client }}</span>
          <span class="mb-number">{{ row.figures }}</span>
          <a :href="row.replay" :aria-label="'Replay: ' + row.prompt">Replay</a>
        </div>
        <p class="mb-call-prompt" dir="auto">{{ row.prompt }}</p>
        <ul v-if="row.memories.length" class="mb-call-memories mb-small">
          <li v-for="one in shown(row)" :key="one.ref"><a v-if="one.href" :href="one.href" dir="auto">{{ one.text
            }}</a><span v-else class="mb-muted">{{ one.ref }} {{ one.text }}</span> <span v-if="one.state"
            class="mb-chip">{{ one.state }}</span></li>
          <li v-if="row.memories.length > FEW && !open[row.id]"><button type="button" class="mb-button-outline mb-small"
            @click="open[row.id] = true">{{ row.memories.length - FEW }} more</button></li>
        </ul>
        <p v-else class="mb-small mb-muted">Returned nothing</p>
        <p v-for="one in row.degraded" :key="one" class="mb-small mb-call-degraded">{{ one }}</p>
      </li>
    </ol>
    <div v-if="older" class="mb-pager"><button type="button" class="mb-button-outline" @click="$emit('older')"
      >Older calls</button></div>
  </section>`,
  computed: {
    isFiltered() {
      return Object.keys(EMPTY).some((name) => this[name]);
    },
  },
  methods: {
    shown(row) {
      return this.open[row.id] ? row.memories : row.memories.slice(0, FEW);
    },
    short,
    exact,
    changeLater() {
      clearTimeout(this.timer);
      this.timer = setTimeout(this.change, DEBOUNCE_MS);
    },
    change() {
      clearTimeout(this.timer);
      const { kind, butler, client, answered, q } = this;
      this.$emit("filter", { kind, butler, client, answered, q });
    },
    clear() {
      Object.assign(this, EMPTY);
      this.change();
    },
  },
};
