// A time in the viewer's time zone and language, with the exact time as tooltip.
const exactFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const shortFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const relativeFormat = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const UNITS = [
  ["year", 31557600],
  ["month", 2629800],
  ["week", 604800],
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
];

function ago(date) {
  const seconds = (date - Date.now()) / 1000;
  for (const [unit, length] of UNITS) {
    if (Math.abs(seconds) >= length) return relativeFormat.format(Math.trunc(seconds / length), unit);
  }
  return "just now";
}

export default {
  props: { at: String, format: String, placeholder: String },
  template: `<time v-if="at" :datetime="at" :title="exact" class="mb-time">{{ text }}</time><span v-else
    class="mb-muted">{{ placeholder }}</span>`,
  computed: {
    exact() {
      return exactFormat.format(new Date(this.at));
    },
    text() {
      const date = new Date(this.at);
      if (this.format === "ago") return ago(date);
      return (this.format === "day" ? dayFormat : shortFormat).format(date);
    },
  },
};
