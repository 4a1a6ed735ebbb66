// One card per memory type: its count, and its parts with links to their lists.
import { number } from "/dashboard/dates.js";

export default {
  props: { cards: Array },
  template: `
  <div class="mb-figures">
    <section v-for="card in cards" :key="card.title" class="mb-card mb-figure" :data-figure="card.name">
      <h2><a :href="card.href">{{ card.title }}</a></h2>
      <p class="mb-figure-count mb-number">{{ number(card.count) }} <span class="mb-muted mb-unit">{{ card.unit
        }}</span></p>
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
  },
};
