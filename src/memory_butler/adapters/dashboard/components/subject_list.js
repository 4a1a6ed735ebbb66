// Subjects, those with the most facts first.
import { ago, exact, number } from "/dashboard/dates.js";

const DEBOUNCE_MS = 200;

export default {
  props: { rows: Array, words: String },
  emits: ["search"],
  data() {
    return { typed: this.words || "", timer: null };
  },
  template: `
  <section>
    <div class="mb-search mb-subject-search"><q-icon name="search" aria-hidden="true"></q-icon><input type="search"
      v-model="typed" class="mb-input" maxlength="200" autocomplete="off" placeholder="Search subjects"
      aria-label="Search subjects" @input="searchLater"></div>
    <p v-if="!rows.length" class="mb-card mb-empty">No subjects.</p>
    <ul v-else class="mb-subjects"><li v-for="row in rows" :key="row.href"><a :href="row.href" class="mb-card"><b
      dir="auto" class="mb-text">{{ row.label }}</b><span class="mb-muted mb-small">{{ number(row.facts) }} {{
      row.facts === 1 ? "fact" : "facts" }} · <time :datetime="row.at" :title="exact(row.at)">{{ ago(row.at)
      }}</time></span></a></li></ul>
  </section>`,
  beforeUnmount() {
    clearTimeout(this.timer);
  },
  methods: {
    ago,
    exact,
    number,
    searchLater() {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.$emit("search", this.typed.trim()), DEBOUNCE_MS);
    },
  },
};
