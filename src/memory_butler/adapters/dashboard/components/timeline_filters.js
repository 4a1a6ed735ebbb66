// Filters of the timeline. A choice applies at once, typed text after a pause.
const DEBOUNCE_MS = 350;
const EMPTY = { what: "", of: "", by: "", scope: "", ref: "", group: "" };

export default {
  props: { query: Object, actions: Array, kinds: Array },
  emits: ["change"],
  data() {
    return { ...this.query, timer: null };
  },
  watch: {
    query(query) {
      Object.assign(this, query);
    },
  },
  template: `
  <form class="mb-card mb-timeline-filters" role="search" aria-label="Filter the timeline" @submit.prevent="change">
    <label><span class="mb-label">Action</span><select v-model="what" @change="change">
      <option value="">Any</option><option v-for="action in actions" :key="action.name" :value="action.name">{{
      action.label }}</option></select></label>
    <label><span class="mb-label">Type</span><select v-model="of" @change="change">
      <option v-for="kind in kinds" :key="kind.name" :value="kind.name">{{ kind.label }}</option></select></label>
    <label><span class="mb-label">Actor</span><input v-model="by" type="search" maxlength="200" placeholder="Any"
      @input="changeLater"></label>
    <label><span class="mb-label">Scope or butler</span><input v-model="scope" type="search" maxlength="64"
      placeholder="Any" @input="changeLater"></label>
    <label><span class="mb-label">Memory</span><input v-model="ref" type="search" maxlength="200"
      placeholder="fact:k3f7" @input="changeLater"></label>
    <button v-if="isFiltered" type="button" class="mb-button-outline mb-small" @click="clear">Clear filters</button>
  </form>`,
  computed: {
    isFiltered() {
      return Object.keys(EMPTY).some((name) => this[name]);
    },
  },
  methods: {
    changeLater() {
      clearTimeout(this.timer);
      this.timer = setTimeout(this.change, DEBOUNCE_MS);
    },
    change() {
      clearTimeout(this.timer);
      const { what, of, by, scope, ref, group } = this;
      this.$emit("change", { what, of, by, scope, ref, group });
    },
    clear() {
      Object.assign(this, EMPTY);
      this.change();
    },
  },
};
