// The context block exactly as an agent receives it, and its use of the token budget.
import { number } from "/dashboard/dates.js";

export default {
  props: { text: String, receipt: Object, first: { type: Number, default: 8 } },
  emits: ["explain"],
  data() {
    return { copied: false, showAll: false };
  },
  watch: {
    text() {
      this.copied = false;
      this.showAll = false;
    },
  },
  template: `
  <div class="mb-block">
    <div class="mb-block-head">
      <span class="mb-number">{{ number(receipt.used) }} of {{ number(receipt.budget) }} tokens</span>
      <button type="button" class="mb-button-small" @click="copy" :disabled="!text"><span aria-live="polite">{{
        copied ? "Copied" : "Copy" }}</span></button>
    </div>
    <div class="mb-bar mb-budget" role="img" :aria-label="receipt.used + ' of ' + receipt.budget + ' tokens used'">
      <span v-for="section in receipt.sections" :key="section.name" :class="'mb-section-' + section.name"
        :style="{ width: section.share + '%' }" :title="section.name + ': ' + section.text"></span></div>
    <ul class="mb-legend mb-small mb-muted mb-sections"><li v-for="section in receipt.sections" :key="section.name"><i
      :class="'mb-section-' + section.name" aria-hidden="true"></i><b>{{ section.name }}</b> {{ section.text
        }}</li></ul>
    <pre v-if="text" class="mb-code mb-context" tabindex="0" aria-label="Context block"><span
      v-for="(line, at) in lines" :key="at" :data-ref="line.ref">{{ line.text }}</span></pre>
    <p v-else class="mb-muted mb-empty-text">Nothing fits into a budget of {{ receipt.budget }} tokens.</p>
    <p v-for="note in receipt.notes" :key="note" class="mb-note mb-small" dir="auto">{{ note }}</p>
    <details v-if="receipt.told.length" class="mb-told"><summary>Why these lines</summary>
      <ul><li v-for="memory in receipt.told" :key="memory.ref">
        <a :href="memory.href" class="mb-chip">{{ memory.ref }}</a>
        <span class="mb-grow"><b>{{ memory.claim }}</b>{{ ": " }}<span
          class="mb-muted mb-small">{{ memory.reason }}</span></span>
        <button type="button" class="mb-button-small" :aria-label="'Why is ' + memory.ref + ' told?'"
          @click="$emit('explain', memory.ref)">Why?</button></li></ul></details>
    <section v-if="receipt.left_out.length" class="mb-left-out" aria-label="Left out">
      <h3>Left out: {{ number(receipt.left_out.length) }}</h3>
      <ul><li v-for="memory in shown" :key="memory.ref">
        <span class="mb-grow"><a :href="memory.href" class="mb-result-said mb-one-line"
          dir="auto">{{ memory.text || memory.ref }}</a><span class="mb-muted mb-small">{{ memory.reason }}
          <code class="mb-entry-ref">{{ memory.ref }}</code></span></span>
        <button type="button" class="mb-button-small" :aria-label="'Why is ' + memory.ref + ' left out?'"
          @click="$emit('explain', memory.ref)">Why?</button></li></ul>
      <button v-if="shown.length < receipt.left_out.length" type="button" class="mb-button-small"
        @click="showAll = true">Show all {{ number(receipt.left_out.length) }}</button>
    </section>
  </div>`,
  computed: {
    // Each line as it is, with the reference that it names.
    lines() {
      return this.text.split(/(?<=\n)/).map((text) => ({ text, ref: text.match(/\[(\w+:\w+)\]/)?.[1] }));
    },
    shown() {
      return this.showAll ? this.receipt.left_out : this.receipt.left_out.slice(0, this.first);
    },
  },
  methods: {
    number,
    async copy() {
      try {
        await navigator.clipboard.writeText(this.text);
      } catch {
        // The clipboard API needs https or localhost; execCommand works everywhere.
        const area = document.createElement("textarea");
        area.value = this.text;
        area.style.position = "fixed";
        area.style.opacity = "0";
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
      }
      this.copied = true;
      setTimeout(() => {
        this.copied = false;
      }, 2000);
    },
  },
};
