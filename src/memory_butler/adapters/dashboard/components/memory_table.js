// Rows of memories: a table on wide screens, cards on narrow ones. Live updates never move rows under the mouse.
import { ago, exact } from "/dashboard/dates.js";

const SLOW_MS = 120;

export default {
  props: {
    columns: Array,
    noun: String,
    actions: Object,
    rows: Array,
    mode: String,
    version: Number,
    position: String,
    sort: String,
    descending: Boolean,
    has_previous: Boolean,
    has_next: Boolean,
    empty: String,
    problem: Object,
    hold_updates: Boolean,
  },
  emits: ["sort", "page", "add", "action", "clear"],
  data() {
    return {
      shown: this.rows || [],
      pending: null,
      shownPosition: this.position,
      isLoading: false,
      isSlow: false,
      timer: null,
      isHovered: false,
    };
  },
  watch: {
    version() {
      this.stopLoading();
      if (this.mode === "unchanged") return;
      const rows = this.rows || [];
      const before = this.shown;
      const moves = rows.length !== before.length || rows.some((row, index) => row.id !== before[index].id);
      if (this.mode === "live" && moves && before.length && (this.hold_updates || this.isHovered || this.hasFocus())) {
        const byId = new Map(rows.map((row) => [row.id, row]));
        this.shown = before.map((row) => byId.get(row.id) || row);
        this.pending = rows;
        return;
      }
      this.shown = rows;
      this.pending = null;
      this.shownPosition = this.position;
    },
  },
  template: `
  <div class="mb-list" :aria-busy="String(isLoading)" :class="['mb-list-' + noun, isSlow ? 'mb-loading' : '']"
    @mouseenter="isHovered = true" @mouseleave="onMouseLeave">
    <div class="mb-list-head">
      <span class="mb-muted mb-number mb-small" role="status">{{ shownPosition }}</span>
      <button v-if="pending" type="button" class="mb-new-button" @click="showPending"><q-icon name="sync"
        aria-hidden="true"></q-icon>Show changes</button>
    </div>
    <div v-if="problem" class="mb-card mb-error" role="alert"><h2>{{ problem.message }}</h2><p
      v-if="problem.recovery">{{
      problem.recovery }}</p>
      <p><button type="button" class="mb-button-outline" @click="request('clear')">Clear filters</button></p></div>
    <div v-else-if="shown.length" class="mb-card mb-memories">
      <table :class="{ 'mb-other-time': sort === 'observed' || sort === 'last_referenced' }">
        <thead><tr><th class="mb-c-text" scope="col">{{ title }}</th>
          <th v-for="column in columns" :key="column.name" scope="col"
            :class="['mb-c-' + column.name, isSorted(column) ? 'mb-sorted' : '']"
            :aria-sort="isSorted(column) ? (descending ? 'descending' : 'ascending') : null">
            <button v-if="column.sort" type="button" @click="request('sort', column.sort)">{{ column.label }}<q-icon
              v-if="column.sort === sort" :name="descending ? 'arrow_downward' : 'arrow_upward'"
              aria-hidden="true"></q-icon></button>
            <template v-else>{{ column.label }}</template></th>
          <th v-if="hasActions" class="mb-c-actions" scope="col"><span
            class="mb-visually-hidden">Actions</span></th></tr>
        </thead>
        <tbody>
          <tr v-for="(row, index) in shown" :key="index" :data-ref="row.ref"
            :class="{ 'mb-inactive': row.is_inactive, 'mb-changed': row.is_changed }">
            <td class="mb-c-text">
              <div class="mb-row-line"><span v-if="row.about" class="mb-row-about"><button v-for="part in row.about"
                :key="part.name" type="button" :class="['mb-link', 'mb-row-' + part.name]" dir="auto"
                :title="'Filter by this ' + part.name" @click="request('add', part.name, part.value)">{{ part.text
                }}</button></span>
              <a :href="row.href" class="mb-row-text" dir="auto">{{ row.text }}</a></div>
              <div class="mb-row-meta">
                <template v-for="chip in row.chips" :key="chip.text"><a v-if="chip.href" :href="chip.href"
                  :class="['mb-chip', 'mb-chip-' + chip.kind]" :title="chip.title">{{ chip.text }}</a><span v-else
                  :class="['mb-chip', chip.kind ? 'mb-chip-' + chip.kind : '']" :title="chip.title">{{ chip.text
                  }}</span></template>
                <button type="button" class="mb-chip mb-chip-owner" dir="auto"
                  :title="row.by ? 'Filter by this scope; learned by ' + row.by : 'Filter by this butler'"
                  @click="request('add', row.owner.name, row.owner.value)"><q-icon
                  :name="row.owner.name === 'scope' ? 'visibility' : 'person'" aria-hidden="true"></q-icon>{{
                  row.owner.text }}</button>
                <button v-for="tag in row.tags" :key="tag.value" type="button" class="mb-chip mb-chip-tag" dir="auto"
                  title="Filter by this tag" @click="request('add', 'tag', tag.value)">#{{ tag.text }}</button>
                <span v-if="row.more_tags" class="mb-muted mb-small">+{{ row.more_tags }}</span>
              </div></td>
            <td v-for="column in columns" :key="column.name"
              :class="['mb-c-' + column.name, isSorted(column) ? 'mb-sorted' : '']">
              <template v-if="column.name === 'confidence'"><span class="mb-confidence-bar" role="img"
                :aria-label="row.confidence + ' percent'"><span :style="{ width: row.confidence + '%' }"
                :class="{ 'mb-low': row.is_low }"></span></span><span class="mb-number mb-small" aria-hidden="true">{{
                row.confidence }}%</span></template>
              <span v-else-if="column.name === 'importance'" class="mb-number">{{ row.importance }}</span>
              <span v-else-if="column.name === 'record'" class="mb-number mb-record"><span title="Helpful"><q-icon
                name="thumb_up" aria-hidden="true"></q-icon>{{ row.helped }}</span><span title="Harmful"
                :class="{ 'mb-harm': row.harmed }"><q-icon name="thumb_down" aria-hidden="true"></q-icon>{{ row.harmed
                }}</span></span>
              <time v-else-if="row[column.name]" :datetime="row[column.name]" :title="exact(row[column.name])"
                class="mb-time">{{ ago(row[column.name]) }}</time>
              <span v-else class="mb-muted">never</span></td>
            <td v-if="hasActions" class="mb-c-actions"><div><button v-for="name in row.actions" :key="name"
              type="button"
              class="mb-row-action" :data-act="name" :aria-label="actions[name].label + ': ' + row.text.slice(0, 60)"
              :title="actions[name].label" @click="$event.detail > 1 || $emit('action', name, row.id)"><q-icon
              :name="actions[name].icon" aria-hidden="true"></q-icon></button></div></td>
          </tr>
        </tbody>
      </table>
    </div>
    <div v-else-if="empty === 'idle'" class="mb-card mb-empty"><h2>No {{ noun }} in use</h2>
      <p>All {{ noun }} have been forgotten or replaced, or have expired.</p>
      <p><button type="button" class="mb-button-outline"
        @click="request('add', 'validity', 'all')">Show all</button></p>
    </div>
    <div v-else-if="empty === 'filtered'" class="mb-card mb-empty"><h2>No matching {{ noun }}</h2>
      <p>Try other words or fewer filters.</p>
      <p><button type="button" class="mb-button-outline" @click="request('clear')">Clear filters</button></p></div>
    <nav v-if="has_previous || has_next" class="mb-pager" :aria-label="'Pages of ' + noun">
      <button type="button" class="mb-tool" :disabled="!has_previous" @click="turnPage('previous')"><q-icon
        name="arrow_back" aria-hidden="true"></q-icon>Previous</button>
      <span class="mb-muted mb-number mb-small">{{ shownPosition }}</span>
      <button type="button" class="mb-tool" :disabled="!has_next" @click="turnPage('next')">Next<q-icon
        name="arrow_forward" aria-hidden="true"></q-icon></button>
    </nav>
  </div>`,
  computed: {
    hasActions() {
      return this.shown.some((row) => row.actions.length);
    },
    title() {
      return this.noun.charAt(0).toUpperCase() + this.noun.slice(1, -1);
    },
  },
  beforeUnmount() {
    clearTimeout(this.timer);
  },
  methods: {
    exact,
    ago,
    isSorted(column) {
      return column.sort && column.sort === this.sort;
    },
    hasFocus() {
      return this.$el.contains(document.activeElement);
    },
    startLoading() {
      this.isLoading = true;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => {
        this.isSlow = this.isLoading;
      }, SLOW_MS);
    },
    stopLoading() {
      this.isLoading = false;
      this.isSlow = false;
      clearTimeout(this.timer);
    },
    request(name, ...values) {
      this.startLoading();
      this.$emit(name, ...values);
    },
    turnPage(direction) {
      this.request("page", direction);
      scrollTo({ top: 0 });
    },
    showPending() {
      this.shown = this.pending;
      this.pending = null;
      this.shownPosition = this.position;
    },
    onMouseLeave() {
      this.isHovered = false;
      if (this.pending && !this.hold_updates && !this.hasFocus()) this.showPending();
    },
    replace(id, row) {
      const substitute = (rows) => rows?.map((other) => (other.id === id ? row : other));
      this.shown = substitute(this.shown);
      this.pending = substitute(this.pending);
    },
  },
};
