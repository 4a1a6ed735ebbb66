// A new fact, rule or note. What was typed stays when the server refuses it.
const EMPTY = { subject: "", predicate: "", content: "", tags: "", scope: "", importance: "5", permanence: "standard" };
const HINTS = {
  fact: "Jasmine, without sugar",
  rule: "Ask before booking anything that cannot be cancelled.",
  episode: "Ada said that she moves to Porto in May.",
};

export default {
  props: { kinds: Array, kind: String, permanences: Array, most: Number, problem: String },
  emits: ["create", "cancel"],
  data() {
    return { chosen: this.kind, values: { ...EMPTY }, sent: false };
  },
  watch: {
    problem() {
      this.sent = false;
    },
  },
  template: `
  <div class="mb-card mb-dialog mb-create"><form ref="form" @submit.prevent="create" @keydown.ctrl.enter="create"
    @keydown.meta.enter="create">
    <h2>Remember</h2>
    <div class="mb-tabs mb-create-tabs" role="radiogroup" aria-label="Type"><button v-for="one in kinds" :key="one.name"
      type="button" class="mb-tab" role="radio" :aria-checked="String(one.name === chosen)"
      @click="chosen = one.name">{{ one.label }}</button></div>
    <div v-if="chosen === 'fact'" class="mb-create-row">
      <label><span class="mb-label">Subject</span><input ref="first" v-model="values.subject" class="mb-input" required
        maxlength="200" placeholder="Ada" dir="auto"></label>
      <label><span class="mb-label">Property</span><input v-model="values.predicate" class="mb-input" required
        maxlength="200" placeholder="favourite tea" dir="auto"></label></div>
    <label><span class="mb-label">{{ chosen === 'fact' ? 'Value' : 'Text' }}</span><textarea v-model="values.content"
      class="mb-input mb-create-text" required rows="3" :maxlength="most" :placeholder="hint" dir="auto"></textarea>
    </label>
    <div class="mb-create-row">
      <label><span class="mb-label">Tags (optional)</span><input v-model="values.tags" class="mb-input" maxlength="1000"
        placeholder="work, travel"></label>
      <label v-if="chosen !== 'episode'"><span class="mb-label">Scope</span><input v-model="values.scope"
        class="mb-input" maxlength="64" placeholder="global"></label></div>
    <div v-if="chosen === 'fact'" class="mb-create-row">
      <label><span class="mb-label">Importance</span><select v-model="values.importance" class="mb-input"><option
        v-for="one in 10" :key="one" :value="String(one)">{{ one }}</option></select></label>
      <label><span class="mb-label">Permanence</span><select v-model="values.permanence" class="mb-input"><option
        v-for="one in permanences" :key="one" :value="one">{{ one }}</option></select></label></div>
    <p v-if="problem" class="mb-note mb-note-bad" role="alert">{{ problem }}</p>
    <div class="mb-dialog-foot"><button type="button" class="mb-tool" @click="$emit('cancel')">Cancel</button><button
      type="submit" class="mb-button" :disabled="sent">Remember</button></div>
  </form></div>`,
  computed: {
    hint() {
      return HINTS[this.chosen];
    },
  },
  mounted() {
    this.$nextTick(() => this.$el.querySelector("input, textarea")?.focus());
  },
  methods: {
    create() {
      if (this.sent || !this.$refs.form.reportValidity()) return;
      this.sent = true;
      this.$emit("create", { ...this.values, kind: this.chosen });
      setTimeout(() => {
        this.sent = false;
      }, 3000);
    },
  },
};
