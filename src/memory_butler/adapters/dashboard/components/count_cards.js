// One card per memory type: its count, and its parts with links to their lists.
import { number } from "/dashboard/dates.js";

export default {
  props: { cards: Array },
  template: `
  <div class="mb-figures">
    <section v-for="card in cards" :key="card.title" class="mb-card mb-figure" :data-figure="card.name">
      <h2><a :href="card.href">{{ card.title }}</a></h2>
      <p class="mb-figure-count mb-number">{{ card.value ?? number(card.count) }} <span
        class="mb-muted mb-unit">{{ card.unit }}</span></p>
      <svg v-if="hasLine(card.spark)" class="mb-spark" viewBox="0 0 100 24" preserveAspectRatio="none"
        role="img" :aria-label="'Last ' + card.spark.length + ' days: ' + card.spark[0] + ' to ' + card.spark.at(-1)">
        <polyline :points="line(card.spark)"></polyline></svg>
      <ul>
        <li v-for="part in card.parts" :key="part.label">
          <a v-if="part.href" class="mb-chip" :class="part.kind ? 'mb-chip-' + part.kind : ''" :href="part.href">{{
            number(part.count) }} {{ part.label }}</a>
          <span v-else class="mb-chip" :class="part.kind ? 'mb-chip-' + part.kind : ''">{{ number(part.count) }} {{
            part.label }}</span>
        </li>
        <li v-if="card.note" class="mb-muted mb-small">{{ card.note }}</li>
      </ul>
    </section>
  </div>`,
  methods: {
    number,
    hasLine(values) {
      return values && values.length > 1 && values.some(Boolean);
    },
    line(values) {
      const least = Math.min(...values);
      const span = Math.max(...values) - least || 1;
      const step = 100 / (values.length - 1);
      return values
        .map((value, at) => `${(at * step).toFixed(1)},${(22 - ((value - least) / span) * 20).toFixed(1)}`)
        .join(" ");
    },
  },
};
