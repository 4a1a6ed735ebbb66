// Titled groups of entries: the sources, versions and history of a memory, and lists of the graph.
import { exact, short } from "/dashboard/dates.js";

const ELEMENTS = { added: "ins", removed: "del" };

export default {
  props: { groups: Array, variant: String },
  emits: ["action", "navigate"],
  template: `
  <div class="mb-entries" :class="variant ? 'mb-entries-' + variant : ''" @keydown.down="moveFocus($event, 1)"
    @keydown.up="moveFocus($event, -1)">
    <section v-for="group in groups" :key="group.title" class="mb-entries-group">
      <h3 v-if="group.title">{{ group.title }}</h3>
      <ol>
        <li v-for="entry in group.entries" :key="entry.key" :data-key="entry.key" :data-kind="entry.kind"
          :class="{ 'mb-entry-undone': entry.undone, 'mb-current': entry.current, 'mb-said': entry.ref }">
          <div class="mb-entry-head" :class="{ 'mb-nameless': !entry.name }">
            <a v-if="entry.name && entry.href && entry.navigates" class="mb-entry-name" :href="entry.href"
              @click="navigate($event, entry.key)" dir="auto">{{ entry.name }}</a>
            <a v-else-if="entry.name && entry.href" class="mb-entry-name" :href="entry.href" dir="auto">{{ entry.name
              }}</a>
            <span v-else-if="entry.name" class="mb-entry-name" dir="auto">{{ entry.name }}</span>
            <span v-if="entry.label" class="mb-entry-label" dir="auto">{{ entry.label }}</span>
            <span v-for="(chip, index) in entry.chips" :key="index" class="mb-chip"
              :class="chip[1] ? 'mb-chip-' + chip[1] : ''">{{ chip[0] }}</span>
            <span v-if="entry.current" class="mb-chip mb-chip-info">this version</span>
            <a v-if="entry.page" class="mb-entry-page mb-small" :href="entry.page"
              :aria-label="'Open the page of ' + (entry.name || entry.ref)">Open</a>
            <span v-if="entry.at || entry.by" class="mb-entry-when mb-muted mb-small">
              <time v-if="entry.at" :datetime="entry.at" :title="exact(entry.at)">{{ short(entry.at) }}</time>
              <template v-if="entry.by"> · {{ entry.by }}</template>
            </span>
            <code v-if="entry.ref" class="mb-entry-ref mb-small">{{ entry.ref }}</code>
          </div>
          <p v-if="entry.segments && entry.segments.length" class="mb-text mb-entry-text" dir="auto"><component
            :is="entry.ref && entry.href ? 'a' : 'span'" :href="entry.href"
            :class="{ 'mb-entry-name': entry.ref }" @click="entry.navigates && navigate($event, entry.key)"><template
            v-for="(segment, index) in entry.segments" :key="index"><component v-if="element(segment[0])"
            :is="element(segment[0])">{{ segment[1] }}</component><template v-else>{{ segment[1]
            }}</template></template></component><a v-if="entry.run" class="mb-small mb-events-run"
              :href="entry.run">Open run</a></p>
          <p v-if="entry.note" class="mb-muted mb-small mb-text">{{ entry.note }}</p>
          <div v-if="entry.actions && entry.actions.length" class="mb-entry-actions">
            <button v-for="action in entry.actions" :key="action.name" type="button" class="mb-button-outline mb-small"
              :title="action.title" @click="$emit('action', [action.name, entry.key])">{{ action.label }}</button>
          </div>
        </li>
      </ol>
    </section>
  </div>`,
  methods: {
    element(kind) {
      return ELEMENTS[kind];
    },
    exact,
    short,
    // Arrow keys move through search results; up from the first one leads back to the search box.
    moveFocus(event, step) {
      if (this.variant !== "found") return;
      event.preventDefault();
      const links = [...this.$el.querySelectorAll("a.mb-entry-name")];
      const target = links.indexOf(document.activeElement) + step;
      if (target < 0) document.querySelector(".mb-graph-search input")?.focus();
      else links[target]?.focus();
    },
    navigate(event, key) {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.$emit("navigate", key);
    },
  },
};
