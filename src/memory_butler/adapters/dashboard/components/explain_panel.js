// The reason why a memory was or was not returned, step by step.
export default {
  props: { reference: String, explanation: Object, problem: String, note: String, choices: Array },
  emits: ["explain"],
  data() {
    return { typed: this.reference };
  },
  watch: {
    reference(reference) {
      this.typed = reference;
    },
  },
  template: `
  <section class="mb-card mb-explain" id="explain" aria-labelledby="explain-title">
    <h2 id="explain-title">Why is this memory (not) included?</h2>
    <p v-if="note" class="mb-muted">{{ note }}</p>
    <form v-else class="mb-line" @submit.prevent="$emit('explain', typed.trim())">
      <label class="mb-grow"><span class="mb-visually-hidden">Reference of a memory</span>
        <input v-model="typed" class="mb-input" placeholder="birthday of Sofia, or fact:k3f7" maxlength="100"
          autocomplete="off" spellcheck="false" list="explain-choices" aria-describedby="explain-hint"></label>
      <datalist id="explain-choices"><option v-for="one in choices" :key="one.ref" :value="one.ref">{{ one.text
        }}</option></datalist>
      <button type="submit" class="mb-button" :disabled="!typed.trim()">Explain</button>
      <span id="explain-hint" class="mb-muted mb-small">Words of a memory that is missing or unexpected, or its
        reference.</span>
    </form>
    <div aria-live="polite">
      <p v-if="problem" class="mb-note mb-note-bad">{{ problem }}</p>
      <template v-if="explanation">
        <p class="mb-explain-verdict"><a :href="explanation.href" dir="auto">{{ said
          }}</a> <strong>{{ explanation.verdict }}</strong></p>
        <p v-if="explanation.briefing" class="mb-muted">{{ explanation.briefing }}</p>
        <div v-if="explanation.terms.length" class="mb-bar" role="img" :aria-label="'Score ' + explanation.score">
          <span v-for="term in explanation.terms" :key="term.name" :class="'mb-part-' + term.name"
            :style="{ width: term.share + '%' }" :title="term.label + ': ' + term.sum"></span></div>
        <dl class="mb-explain-steps">
          <template v-for="step in explanation.steps" :key="step.name"><dt><span :class="colour(step.ok)"
            aria-hidden="true">{{ symbol(step.ok) }}</span>{{ step.name }}</dt><dd dir="auto">{{ step.text
            }}</dd></template>
        </dl>
      </template>
    </div>
  </section>`,
  computed: {
    said() {
      const { ref } = this.explanation;
      return this.choices.find((one) => one.ref === ref)?.text || ref;
    },
  },
  methods: {
    symbol(ok) {
      return ok === true ? "✓" : ok === false ? "✗" : "·";
    },
    colour(ok) {
      return ok === true ? "mb-positive" : ok === false ? "mb-negative" : "mb-muted";
    },
  },
};
