// Which part of what happened is told. What is chosen counts at once, what is typed a moment later.
export default {
  props: { wanted: Object, actions: Array, kinds: Array },
  emits: ["choose"],
  data() { return { ...this.wanted, waiting: null }; },
  watch: { wanted(now) { Object.assign(this, now); } },
  template: `
  <form class="mb-card mb-tale" role="search" aria-label="Narrow the timeline down" @submit.prevent="choose">
    <label><span class="mb-label">What happened</span><select v-model="what" @change="choose">
      <option value="">Anything</option><option v-for="one in actions" :key="one.name" :value="one.name">{{ one.label }}</option></select></label>
    <label><span class="mb-label">To what</span><select v-model="of" @change="choose">
      <option v-for="one in kinds" :key="one.name" :value="one.name">{{ one.label }}</option></select></label>
    <label><span class="mb-label">By whom</span><input v-model="by" type="search" maxlength="200" placeholder="Anybody" @input="soon"></label>
    <label><span class="mb-label">Scope or butler</span><input v-model="scope" type="search" maxlength="64" placeholder="Every one" @input="soon"></label>
    <label><span class="mb-label">Memory</span><input v-model="ref" type="search" maxlength="200" placeholder="fact:k3f7" @input="soon"></label>
    <button v-if="narrowed" type="button" class="mb-plain mb-small" @click="clear">Show all</button>
  </form>`,
  computed: { narrowed() { return this.what || this.of || this.by || this.scope || this.ref || this.group; } },
  methods: {
    soon() { clearTimeout(this.waiting); this.waiting = setTimeout(this.choose, 350); },
    choose() {
      clearTimeout(this.waiting);
      const { what, of, by, scope, ref, group } = this;
      this.$emit("choose", { what, of, by, scope, ref, group });
    },
    clear() { Object.assign(this, { what: "", of: "", by: "", scope: "", ref: "", group: "" }); this.choose(); },
  },
};
