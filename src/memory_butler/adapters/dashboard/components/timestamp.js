// A time in the viewer's time zone, with the exact time as tooltip.
import { ago, day, exact, short } from "/dashboard/dates.js";

export default {
  props: { at: String, format: String, placeholder: String },
  template: `<time v-if="at" :datetime="at" :title="exact" class="mb-time">{{ text }}</time><span v-else
    class="mb-muted">{{ placeholder }}</span>`,
  computed: {
    exact() {
      return exact(this.at);
    },
    text() {
      return (this.format === "ago" ? ago : this.format === "day" ? day : short)(this.at);
    },
  },
};
