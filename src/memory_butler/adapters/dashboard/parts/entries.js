// Lists of what stands around a memory: where it came from, what took its place, what happened to it.
const short = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const MARKS = { added: "ins", removed: "del" };

export default {
  props: { groups: Array, form: String },
  emits: ["act", "walk"],
  template: `
  <div class="mb-entries" :class="form ? 'mb-entries-' + form : ''" @keydown.down="step($event, 1)" @keydown.up="step($event, -1)">
    <section v-for="group in groups" :key="group.title" class="mb-entries-group">
      <h3 v-if="group.title">{{ group.title }}</h3>
      <ol>
        <li v-for="entry in group.entries" :key="entry.key" :class="{ 'mb-struck': entry.struck, 'mb-here': entry.here }" :data-key="entry.key" :data-kind="entry.kind">
          <div class="mb-entry-head" :class="{ 'mb-nameless': !entry.name }">
            <a v-if="entry.href && entry.walks" class="mb-entry-name" :href="entry.href" @click="walk($event, entry.key)" dir="auto">{{ entry.name }}</a>
            <a v-else-if="entry.href" class="mb-entry-name" :href="entry.href" dir="auto">{{ entry.name }}</a>
            <span v-else-if="entry.name" class="mb-entry-name" dir="auto">{{ entry.name }}</span>
            <span v-if="entry.label" class="mb-entry-label" dir="auto">{{ entry.label }}</span>
            <span v-for="(chip, place) in entry.chips" :key="place" class="mb-chip" :class="chip[1] ? 'mb-chip-' + chip[1] : ''">{{ chip[0] }}</span>
            <span v-if="entry.here" class="mb-chip mb-chip-info">this one</span>
            <a v-if="entry.page" class="mb-entry-page mb-small" :href="entry.page" :aria-label="'Open the page of ' + entry.name">Open</a>
            <span v-if="entry.at || entry.by" class="mb-entry-when mb-muted mb-small">
              <time v-if="entry.at" :datetime="entry.at" :title="exactly(entry.at)">{{ shortly(entry.at) }}</time>
              <template v-if="entry.by"> · {{ entry.by }}</template>
            </span>
          </div>
          <p v-if="entry.segments && entry.segments.length" class="mb-words mb-entry-words" dir="auto"><template v-for="(piece, place) in entry.segments" :key="place"><component v-if="mark(piece[0])" :is="mark(piece[0])">{{ piece[1] }}</component><template v-else>{{ piece[1] }}</template></template><a v-if="entry.run" class="mb-small mb-story-run" :href="entry.run">See the run</a></p>
          <p v-if="entry.note" class="mb-muted mb-small mb-words">{{ entry.note }}</p>
          <div v-if="entry.actions && entry.actions.length" class="mb-entry-actions">
            <button v-for="action in entry.actions" :key="action.name" type="button" class="mb-plain mb-small" :title="action.title" @click="$emit('act', [action.name, entry.key])">{{ action.label }}</button>
          </div>
        </li>
      </ol>
    </section>
  </div>`,
  methods: {
    mark(kind) { return MARKS[kind]; },
    exactly(at) { return exact.format(new Date(at)); },
    shortly(at) { return short.format(new Date(at)); },
    // What was found is gone through with the arrow keys; before the first is where it was looked for.
    step(event, by) {
      if (this.form !== "found") return;
      event.preventDefault();
      const names = [...this.$el.querySelectorAll("a.mb-entry-name")];
      const to = names.indexOf(document.activeElement) + by;
      if (to < 0) document.querySelector(".mb-graph-search input")?.focus();
      else names[to]?.focus();
    },
    walk(event, key) {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.$emit("walk", key);
    },
  },
};
