// Horizontal bars: a share of a capacity, or of a total.
import { number } from "/dashboard/dates.js";

export default {
  props: { bars: Array },
  template: `
  <ul class="mb-bars">
    <li v-for="bar in bars" :key="bar.label">
      <div class="mb-meter-head"><span>{{ bar.label }}</span><span class="mb-number mb-muted">{{ number(bar.count)
        }}<template v-if="bar.of"> of {{ number(bar.of) }}</template></span></div>
      <div class="mb-meter" role="meter" :aria-label="bar.label" aria-valuemin="0" aria-valuemax="100"
        :aria-valuenow="Math.round(100 * bar.share)">
        <span :class="'mb-tone-' + bar.tone" :style="{ width: (100 * bar.share) + '%' }"></span>
      </div>
      <p v-if="bar.note" class="mb-muted mb-small">{{ bar.note }}</p>
    </li>
  </ul>`,
  methods: {
    number,
  },
};
