// Events by day in the viewer's time zone, newest first.
import { dayName, exact, time } from "/dashboard/dates.js";

export default {
  props: { entries: Array, compact: Boolean },
  emits: ["undo"],
  template: `
  <div class="mb-events" :class="{ 'mb-events-compact': compact }">
    <section v-for="day in days" :key="day.key" :aria-label="day.name">
      <h2 class="mb-events-day">{{ day.name }}</h2>
      <ol>
        <li v-for="entry in day.entries" :key="entry.key" :data-place="entry.key"
          :class="{ 'mb-undone': entry.undone, 'mb-event-group': entry.summary }">
          <time class="mb-events-time mb-muted mb-small mb-number" :datetime="entry.at" :title="exact(entry.at)">{{
            time(entry.at) }}</time>
          <span class="mb-events-dot" :class="'mb-tone-' + entry.tone" aria-hidden="true"></span>
          <div class="mb-events-body">
            <p v-if="entry.summary" class="mb-events-summary"><span class="mb-events-summary-text"><span dir="auto">{{
              entry.actor }}</span>: {{ entry.summary }}</span><span v-if="entry.undone"
                class="mb-chip">undone</span></p>
            <template v-if="!compact || !entry.summary"><div v-for="line in entry.lines" :key="line.key"
              class="mb-events-line" :class="{ 'mb-undone': line.undone }">
              <p v-if="line.about" class="mb-events-text"><a v-if="line.href" :href="line.href" class="mb-events-about"
                dir="auto">{{ line.about }}</a><span v-else class="mb-events-about" dir="auto">{{ line.about
                }}</span></p>
              <p :class="line.about ? 'mb-events-what' : 'mb-events-text'"><span dir="auto">{{ line.text }}</span><a
                v-if="line.run" class="mb-events-run" :href="line.run">Open run</a><code v-if="line.ref"
                class="mb-events-ref">{{ line.ref }}</code><span v-if="showsUndone(line, entry)"
                class="mb-chip">undone</span></p>
            </div></template>
            <a v-if="entry.summary && (entry.more || compact)" class="mb-small" :href="entry.moreHref">{{
              compact ? "View" : entry.more }}</a>
          </div>
          <button v-if="entry.undo" type="button" class="mb-button-outline mb-small mb-events-undo"
            :aria-label="undoLabel(entry)" :title="undoLabel(entry)"
            @click="$emit('undo', entry.key)">{{
            entry.undo }}</button>
        </li>
      </ol>
    </section>
  </div>`,
  computed: {
    days() {
      const days = [];
      for (const entry of this.entries) {
        const name = dayName(entry.at);
        if (days.at(-1)?.name !== name) days.push({ name, key: entry.key, entries: [] });
        days.at(-1).entries.push(entry);
      }
      return days;
    },
  },
  methods: {
    time,
    exact,
    // The effect in words: "Undo: withdraw Ana lives in Porto".
    undoLabel(entry) {
      const [line] = entry.lines;
      const what = entry.summary || line.about || line.text;
      return entry.undo.startsWith("Undo") ? `${entry.undo}: ${what}` : `Undo: ${entry.undo.toLowerCase()} “${what}”`;
    },
    // Once per entry: a group that is undone as a whole shows it beside its summary.
    showsUndone(line, entry) {
      return line.undone && !(entry.undone && entry.summary);
    },
  },
};
