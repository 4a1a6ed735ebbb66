// What happened, day by day in the viewer's own zone, the newest first.
const day = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric" });
const time = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

function named(at) {
  const moment = new Date(at), today = new Date(), before = new Date();
  before.setDate(before.getDate() - 1);
  if (moment.toDateString() === today.toDateString()) return "Today";
  if (moment.toDateString() === before.toDateString()) return "Yesterday";
  return day.format(moment);
}

export default {
  props: { entries: Array, compact: Boolean },
  emits: ["undo"],
  template: `
  <div class="mb-story" :class="{ 'mb-story-compact': compact }">
    <section v-for="part in days" :key="part.key" :aria-label="part.name">
      <h2 class="mb-story-day">{{ part.name }}</h2>
      <ol>
        <li v-for="entry in part.entries" :key="entry.key" :data-place="entry.key" :class="{ 'mb-undone': entry.undone, 'mb-together': entry.sum }">
          <time class="mb-story-time mb-muted mb-small mb-number" :datetime="entry.at" :title="exactly(entry.at)">{{ clock(entry.at) }}</time>
          <span class="mb-story-dot" :class="'mb-tone-' + entry.tone" aria-hidden="true"></span>
          <div class="mb-story-body">
            <p v-if="entry.sum" class="mb-story-sum"><span class="mb-story-all"><span dir="auto">{{ entry.actor }}</span>: {{ entry.sum }}</span><span v-if="entry.undone" class="mb-chip">undone</span></p>
            <template v-if="!compact || !entry.sum"><div v-for="line in entry.lines" :key="line.key" class="mb-story-line" :class="{ 'mb-undone': line.undone }">
              <p class="mb-story-said"><a v-if="line.href" :href="line.href" class="mb-chip" :class="'mb-chip-' + line.kind">{{ line.ref }}</a><span v-else-if="line.ref" class="mb-chip">{{ line.ref }}</span>{{ line.ref ? " " : "" }}<span dir="auto">{{ line.words }}</span><a v-if="line.run" class="mb-small mb-story-run" :href="line.run">See the run</a><span v-if="line.undone && !entry.undone" class="mb-chip">undone</span><span v-else-if="line.undone && !entry.sum" class="mb-chip">undone</span></p>
              <p v-if="line.about" class="mb-story-about mb-words" dir="auto">{{ line.about }}</p>
            </div></template>
            <a v-if="entry.sum && (entry.more || compact)" class="mb-small" :href="entry.moreHref">{{ compact ? "See them" : entry.more }}</a>
          </div>
          <button v-if="entry.undo" type="button" class="mb-plain mb-small mb-story-undo" :aria-label="entry.undo + ': ' + (entry.sum || entry.lines[0].words)" @click="$emit('undo', entry.key)">{{ entry.undo }}</button>
        </li>
      </ol>
    </section>
  </div>`,
  computed: {
    days() {
      const found = [];
      for (const entry of this.entries) {
        const name = named(entry.at);
        if (!found.length || found[found.length - 1].name !== name) found.push({ name, key: entry.key, entries: [] });
        found[found.length - 1].entries.push(entry);
      }
      return found;
    },
  },
  methods: {
    clock(at) { return time.format(new Date(at)); },
    exactly(at) { return exact.format(new Date(at)); },
  },
};
