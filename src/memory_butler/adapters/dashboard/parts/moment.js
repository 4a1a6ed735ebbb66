// A point in time in the viewer's own zone and language; the exact one on hover.
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const short = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const UNITS = [["year", 31557600], ["month", 2629800], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];

export function said(at, form) {
  const moment = new Date(at);
  if (form === "day") return day.format(moment);
  if (form === "ago") {
    const seconds = (moment - Date.now()) / 1000;
    for (const [unit, length] of UNITS)
      if (Math.abs(seconds) >= length) return relative.format(Math.trunc(seconds / length), unit);
    return "just now";
  }
  return short.format(moment);
}
export const exactly = (at) => exact.format(new Date(at));

export default {
  props: { at: String, form: String, otherwise: String },
  template: `<time v-if="at" :datetime="at" :title="exact" class="mb-time">{{ words }}</time><span v-else class="mb-muted">{{ otherwise }}</span>`,
  computed: {
    exact() { return exactly(this.at); },
    words() { return said(this.at, this.form || "short"); },
  },
};
