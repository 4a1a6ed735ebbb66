// Dates and numbers of all pages: English words, the viewer's time zone. "17 Nov 2026", "17 Nov 2026, 14:05", "2 days
// ago"; the tooltip has the exact time. Relative times follow the clock while a page stays open.
import { ref } from "vue";

const LOCALE = "en-GB";
const MINUTE = 60000;
const DAY = 86400000;
const exactFormat = new Intl.DateTimeFormat(LOCALE, { dateStyle: "full", timeStyle: "long" });
const shortFormat = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "short" });
const dayFormat = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium" });
const timeFormat = new Intl.DateTimeFormat(LOCALE, { timeStyle: "short" });
const weekdayFormat = new Intl.DateTimeFormat(LOCALE, {
  weekday: "long",
  day: "numeric",
  month: "long",
  year: "numeric",
});
const utcDayFormat = new Intl.DateTimeFormat(LOCALE, { dateStyle: "full", timeZone: "UTC" });
const numberFormat = new Intl.NumberFormat("en-US");
const relativeFormat = new Intl.RelativeTimeFormat(LOCALE, { numeric: "auto" });
const now = ref(Date.now());
setInterval(() => {
  now.value = Date.now();
}, MINUTE / 2);

const midnight = (date) => new Date(date).setHours(0, 0, 0, 0);

export const exact = (at) => exactFormat.format(new Date(at));
export const short = (at) => shortFormat.format(new Date(at));
export const day = (at) => dayFormat.format(new Date(at));
export const time = (at) => timeFormat.format(new Date(at));
export const utcDay = (at) => utcDayFormat.format(new Date(at));
export const number = (value) => numberFormat.format(value);

// Calendar days between now and a moment: yesterday is the day before, whatever the hour.
const daysFrom = (at) => Math.round((midnight(at) - midnight(now.value)) / DAY);

export function dayName(at) {
  const days = daysFrom(at);
  return days === 0 ? "Today" : days === -1 ? "Yesterday" : weekdayFormat.format(new Date(at));
}

export function ago(at) {
  const minutes = Math.trunc((new Date(at) - now.value) / MINUTE);
  const days = daysFrom(at);
  if (minutes === 0) return new Date(at) > now.value ? "in a moment" : "just now";
  if (Math.abs(minutes) < 60) return relativeFormat.format(minutes, "minute");
  if (days === 0 || Math.abs(minutes) < 360) return relativeFormat.format(Math.trunc(minutes / 60), "hour");
  if (Math.abs(days) < 14) return relativeFormat.format(days, "day");
  if (Math.abs(days) < 61) return relativeFormat.format(Math.trunc(days / 7), "week");
  if (Math.abs(days) < 365) return relativeFormat.format(Math.trunc(days / 30.44), "month");
  return day(at);
}
