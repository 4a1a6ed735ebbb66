// Search results, best first, each with its score as a stacked bar.
export default {
  props: { rows: Array, labels: Array, notes: Array, empty: String },
  template: `
  <div class="mb-results">
    <p v-for="note in notes" :key="note" class="mb-note mb-note-warn mb-small" dir="auto">{{ note }}</p>
    <p v-if="!rows.length" class="mb-muted mb-empty-text">{{ empty }}</p>
    <ul v-else class="mb-legend mb-small mb-muted" aria-label="Legend">
      <li v-for="term in labels" :key="term.name"><i :class="'mb-part-' + term.name" aria-hidden="true"></i>{{
        term.label
        }}</li></ul>
    <ol v-if="rows.length" class="mb-result-list">
      <li v-for="row in rows" :key="row.ref" @mouseenter="light(row.ref)" @mouseleave="light('')">
        <div class="mb-result-head">
          <a :href="row.href" class="mb-result-said mb-text mb-clamp" dir="auto">{{ row.text }}</a>
          <span v-if="row.warning" class="mb-chip mb-chip-bad">warning</span>
          <span v-if="row.unverified" class="mb-chip mb-chip-warn" :title="row.unverified">unverified</span>
          <span v-if="row.state" :class="['mb-chip', 'mb-chip-' + row.validity]">{{ row.state }}</span>
          <strong class="mb-number mb-result-score" title="Score">{{ row.score }}</strong>
        </div>
        <div class="mb-bar" role="img" :aria-label="scoreText(row)">
          <span v-for="term in row.terms" :key="term.name" :class="'mb-part-' + term.name"
            :style="{ width: term.share + '%' }" :title="term.label + ': ' + term.sum"></span></div>
        <details class="mb-small"><summary class="mb-muted">Score details <code class="mb-entry-ref">{{ row.ref
          }}</code></summary>
          <dl class="mb-result-pairs">
            <template v-for="term in row.terms" :key="term.name"><dt><i :class="'mb-part-' + term.name"
              aria-hidden="true"></i>{{ term.label }}</dt><dd class="mb-number">{{ term.sum }}</dd></template>
            <template v-for="pair in row.details" :key="pair[0]"><dt>{{ pair[0] }}</dt><dd class="mb-number">{{ pair[1]
              }}</dd></template>
            <template v-if="row.duplicates.length"><dt>Duplicates</dt><dd><a v-for="duplicate in row.duplicates"
              :key="duplicate.ref" :href="duplicate.href" class="mb-chip">{{ duplicate.ref }}</a></dd></template>
          </dl></details>
      </li>
    </ol>
  </div>`,
  unmounted() {
    this.light("");
  },
  methods: {
    // The line of a result in the context block beside it.
    light(ref) {
      for (const line of document.querySelectorAll(".mb-context [data-ref]"))
        line.classList.toggle("mb-lit", line.dataset.ref === ref);
    },
    scoreText(row) {
      const terms = row.terms.map((term) => `${term.label} ${term.sum}`);
      return `Score ${row.score}: ${terms.join(", ")}`;
    },
  },
};
