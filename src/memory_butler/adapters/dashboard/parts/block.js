// The text that an agent gets, byte for byte, and what became of its budget.

export default {
  props: { text: String, receipt: Object, first: { type: Number, default: 8 } },
  emits: ["why"],
  data() { return { copied: false, all: false }; },
  watch: { text() { this.copied = false; this.all = false; } },
  template: `
  <div class="mb-block">
    <div class="mb-block-head">
      <span class="mb-number">{{ receipt.used.toLocaleString() }} of {{ receipt.budget.toLocaleString() }} tokens</span>
      <button type="button" class="mb-quiet" @click="copy" :disabled="!text"><span aria-live="polite">{{ copied ? "Copied" : "Copy" }}</span></button>
    </div>
    <div class="mb-bar mb-budget" role="img" :aria-label="receipt.used + ' of ' + receipt.budget + ' tokens are used'">
      <span v-for="part in receipt.sections" :key="part.name" :class="'mb-of-' + part.name" :style="{ width: part.share + '%' }" :title="part.name + ': ' + part.said"></span></div>
    <ul class="mb-legend mb-small mb-muted mb-sections"><li v-for="part in receipt.sections" :key="part.name"><i :class="'mb-of-' + part.name" aria-hidden="true"></i><b>{{ part.name }}</b> {{ part.said }}</li></ul>
    <pre v-if="text" class="mb-code mb-context" tabindex="0" aria-label="The block as an agent gets it">{{ text }}</pre>
    <p v-else class="mb-muted mb-nothing">Nothing fits into a budget of {{ receipt.budget }} tokens.</p>
    <p v-for="note in receipt.notes" :key="note" class="mb-note mb-small" dir="auto">{{ note }}</p>
    <section v-if="receipt.left.length" class="mb-left" aria-label="Left out">
      <h3>Left out: {{ receipt.left.length.toLocaleString() }}</h3>
      <ul><li v-for="one in shown" :key="one.ref">
        <a :href="one.href" class="mb-chip">{{ one.ref }}</a>
        <span class="mb-grow"><span v-if="one.words" class="mb-words mb-one-line" dir="auto">{{ one.words }}</span><span class="mb-muted mb-small">{{ one.why }}</span></span>
        <button type="button" class="mb-quiet" :aria-label="'Why is ' + one.ref + ' not here?'" @click="$emit('why', one.ref)">Why?</button></li></ul>
      <button v-if="shown.length < receipt.left.length" type="button" class="mb-quiet" @click="all = true">Show all {{ receipt.left.length.toLocaleString() }}</button>
    </section>
  </div>`,
  computed: {
    shown() { return this.all ? this.receipt.left : this.receipt.left.slice(0, this.first); },
  },
  methods: {
    async copy() {
      try { await navigator.clipboard.writeText(this.text); } catch {
        // Only pages that came safely may use the clipboard; the old way works everywhere.
        const area = document.createElement("textarea");
        area.value = this.text; area.style.position = "fixed"; area.style.opacity = "0";
        document.body.append(area); area.select(); document.execCommand("copy"); area.remove();
      }
      this.copied = true;
      setTimeout(() => { this.copied = false; }, 2000);
    },
  },
};
