// The playground's form. Enter submits; Shift+Enter starts a new line.
const toLocalInput = (timestamp) => {
  if (!timestamp) return "";
  const date = new Date(timestamp);
  if (Number.isNaN(date.getTime())) return "";
  return new Date(date - date.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
};

export default {
  props: {
    query: Object,
    butlers: Array,
    modes: Array,
    kinds: Array,
    default_budget: Number,
    max_budget: Number,
    has_as_of: Boolean,
    busy: Boolean,
  },
  emits: ["search"],
  data() {
    return this.valuesFromQuery();
  },
  watch: {
    query() {
      Object.assign(this, this.valuesFromQuery());
    },
  },
  template: `
  <form class="mb-card mb-playground" @submit.prevent="submit" :aria-busy="busy">
    <div class="mb-playground-top"><label class="mb-playground-prompt mb-grow"><span class="mb-label">Prompt</span>
      <textarea v-model="prompt" rows="2" maxlength="20000" dir="auto" placeholder="Plan dinner with Anna on Friday"
        @keydown.enter.exact="submitOnEnter"></textarea></label>
      <button class="mb-button" type="submit" :disabled="!prompt.trim()">Search</button></div>
    <div class="mb-playground-row">
      <label><span class="mb-label">Butler</span><select v-model="butler" @change="submitAgain">
        <option v-for="name in butlerChoices" :key="name" :value="name">{{ name }}</option></select></label>
      <label><span class="mb-label">Search mode</span><select v-model="mode" @change="submitAgain">
        <option v-for="choice in modes" :key="choice.name" :value="choice.name">{{ choice.label
          }}</option></select></label>
      <fieldset class="mb-playground-kinds"><legend class="mb-label">Types</legend>
        <label v-for="kind in kinds" :key="kind.name" class="mb-checkbox"><input type="checkbox" :value="kind.name"
          v-model="types" @change="submitAgain">{{ kind.label }}</label>
      </fieldset>
      <label class="mb-playground-budget"><span class="mb-label">Token budget</span>
        <input v-model="budget" type="number" min="0" :max="max_budget" step="1" inputmode="numeric"
          :placeholder="default_budget"></label>
      <label v-if="has_as_of" class="mb-playground-date"><span class="mb-label">As of</span><input v-model="date"
        type="datetime-local"></label>
    </div>
  </form>`,
  computed: {
    butlerChoices() {
      return this.butlers.includes(this.butler) ? this.butlers : [this.butler, ...this.butlers];
    },
  },
  methods: {
    valuesFromQuery() {
      const { prompt, butler, mode, types, budget, as_of } = this.query;
      const all = this.kinds.map((kind) => kind.name);
      return { prompt, butler, mode, types: types.length ? [...types] : all, budget, date: toLocalInput(as_of) };
    },
    submitOnEnter(event) {
      if (event.isComposing) return;
      event.preventDefault();
      this.submitAgain();
    },
    submitAgain() {
      if (this.prompt.trim()) this.submit();
    },
    submit() {
      const isUnchanged = this.date === toLocalInput(this.query.as_of);
      const as_of = !this.date ? "" : isUnchanged ? this.query.as_of : new Date(this.date).toISOString();
      this.$emit("search", {
        prompt: this.prompt.trim(),
        butler: this.butler,
        mode: this.mode,
        types: this.types.join(","),
        budget: String(this.budget ?? ""),
        as_of,
      });
    },
  },
};
