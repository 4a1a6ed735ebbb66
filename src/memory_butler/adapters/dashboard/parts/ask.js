// What is asked, as whom and how. Enter asks; Shift and Enter begin a new line.
const local = (at) => {
  if (!at) return "";
  const moment = new Date(at);
  if (isNaN(moment)) return "";
  return new Date(moment - moment.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
};

export default {
  props: { wish: Object, butlers: Array, modes: Array, kinds: Array, usual: Number, most: Number, travels: Boolean, busy: Boolean },
  emits: ["ask"],
  data() { return this.taken(); },
  watch: { wish() { Object.assign(this, this.taken()); } },
  template: `
  <form class="mb-card mb-play" @submit.prevent="ask" :aria-busy="busy">
    <div class="mb-play-top"><label class="mb-play-prompt mb-grow"><span class="mb-label">What would an agent be asked?</span>
      <textarea v-model="prompt" rows="2" maxlength="20000" dir="auto" placeholder="Plan dinner with Anna on Friday"
        @keydown.enter.exact="enter"></textarea></label>
      <button class="mb-button" type="submit" :disabled="!prompt.trim()">Ask</button></div>
    <div class="mb-play-row">
      <label><span class="mb-label">As butler</span><select v-model="butler" @change="again">
        <option v-for="one in offered" :key="one" :value="one">{{ one }}</option></select></label>
      <label><span class="mb-label">Search</span><select v-model="mode" @change="again">
        <option v-for="one in modes" :key="one.name" :value="one.name">{{ one.label }}</option></select></label>
      <fieldset class="mb-play-kinds"><legend class="mb-label">Results</legend>
        <label v-for="one in kinds" :key="one.name" class="mb-tick"><input type="checkbox" :value="one.name" v-model="types" @change="again">{{ one.label }}</label>
      </fieldset>
      <label class="mb-play-budget"><span class="mb-label">Token budget</span>
        <input v-model="budget" type="number" min="0" :max="most" step="1" inputmode="numeric" :placeholder="usual"></label>
      <label v-if="travels" class="mb-play-date"><span class="mb-label">As of</span><input v-model="date" type="datetime-local"></label>
    </div>
  </form>`,
  computed: {
    offered() { return this.butlers.includes(this.butler) ? this.butlers : [this.butler, ...this.butlers]; },
  },
  methods: {
    taken() {
      const { prompt, butler, mode, types, budget, as_of } = this.wish;
      const all = this.kinds.map((one) => one.name);
      return { prompt, butler, mode, types: types.length ? [...types] : all, budget, date: local(as_of) };
    },
    enter(event) {
      if (event.isComposing) return;
      event.preventDefault();
      if (this.prompt.trim()) this.ask();
    },
    again() { if (this.prompt.trim()) this.ask(); },
    ask() {
      const same = this.date === local(this.wish.as_of);
      const as_of = !this.date ? "" : same ? this.wish.as_of : new Date(this.date).toISOString();
      this.$emit("ask", { prompt: this.prompt.trim(), butler: this.butler, mode: this.mode,
        types: this.types.join(","), budget: String(this.budget ?? ""), as_of });
    },
  },
};
