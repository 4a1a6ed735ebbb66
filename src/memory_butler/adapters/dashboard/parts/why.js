// Why a memory is in the answer or not, step by step.
export default {
  props: { asked: String, told: Object, problem: String, note: String },
  emits: ["why"],
  data() { return { ref_: this.asked }; },
  watch: { asked(value) { this.ref_ = value; } },
  template: `
  <section class="mb-card mb-why" id="why" aria-labelledby="why-title">
    <h2 id="why-title">Why is it here, or not?</h2>
    <p v-if="note" class="mb-muted">{{ note }}</p>
    <form v-else class="mb-line" @submit.prevent="$emit('why', ref_.trim())">
      <label class="mb-grow"><span class="mb-unseen">Reference of a memory</span>
        <input v-model="ref_" class="mb-input" placeholder="fact:k3f7" maxlength="100" autocomplete="off" spellcheck="false" aria-describedby="why-hint"></label>
      <button type="submit" class="mb-button" :disabled="!ref_.trim()">Explain</button>
      <span id="why-hint" class="mb-muted mb-small">The reference of a memory that you miss, or that should not be there.</span>
    </form>
    <div aria-live="polite">
      <p v-if="problem" class="mb-note mb-note-bad">{{ problem }}</p>
      <template v-if="told">
        <p class="mb-verdict"><a :href="told.href" class="mb-chip">{{ told.ref }}</a> <strong>{{ told.verdict }}</strong></p>
        <p v-if="told.briefing" class="mb-muted">{{ told.briefing }}</p>
        <div v-if="told.terms.length" class="mb-bar" role="img" :aria-label="'Score ' + told.score">
          <span v-for="term in told.terms" :key="term.name" :class="'mb-part-' + term.name" :style="{ width: term.share + '%' }" :title="term.label + ': ' + term.sum"></span></div>
        <dl class="mb-why-steps">
          <template v-for="step in told.steps" :key="step.name"><dt><span :class="mark(step.ok)" aria-hidden="true">{{ sign(step.ok) }}</span>{{ step.name }}</dt><dd dir="auto">{{ step.words }}</dd></template>
        </dl>
      </template>
    </div>
  </section>`,
  methods: {
    sign(ok) { return ok === true ? "✓" : ok === false ? "✗" : "·"; },
    mark(ok) { return ok === true ? "mb-yes" : ok === false ? "mb-no" : "mb-muted"; },
  },
};
