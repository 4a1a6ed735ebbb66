// A plain table. What stands in its cells is text, a word on a ground, a moment, or a share as a bar.
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const short = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60]];

export default {
  props: { columns: Array, rows: Array, label: String, act: String, empty: String },
  emits: ["act"],
  template: `
  <p v-if="!rows.length" class="mb-muted mb-rows-empty">{{ empty }}</p>
  <div v-else class="mb-rows-room"><table class="mb-table mb-rows" :aria-label="label">
    <thead><tr>
      <th v-for="column in columns" :key="column.label" :class="{ 'mb-right': column.right }" scope="col">{{ column.label }}</th>
      <th v-if="act" scope="col"><span class="mb-unseen">Actions</span></th>
    </tr></thead>
    <tbody>
      <tr v-for="row in rows" :key="row.key" :data-key="row.key" :class="{ 'mb-rows-over': row.over }">
        <td v-for="(cell, place) in row.cells" :key="place" :data-label="columns[place].label" :class="{ 'mb-right': columns[place].right, 'mb-number': columns[place].right }">
          <time v-if="cell.at" :datetime="cell.at" :title="exactly(cell.at)">{{ ago(cell.at) }}</time>
          <span v-else-if="cell.tone" class="mb-chip" :class="'mb-chip-' + cell.tone">{{ cell.text }}</span>
          <span v-else class="mb-words" :class="{ 'mb-muted': cell.quiet, 'mb-whole': cell.whole }" dir="auto">{{ cell.text }}</span>
          <span v-if="cell.share !== undefined" class="mb-rows-bar" aria-hidden="true"><i :style="{ width: cell.share + '%' }"></i></span>
          <div v-if="cell.note" class="mb-muted mb-small mb-words" dir="auto">{{ cell.note }}</div>
        </td>
        <td v-if="act" class="mb-right"><button v-if="row.acts" type="button" class="mb-plain mb-small" :aria-label="act + ' ' + row.name" @click="$emit('act', row.key)">{{ act }}</button></td>
      </tr>
    </tbody>
  </table></div>`,
  methods: {
    exactly(at) { return exact.format(new Date(at)); },
    ago(at) {
      const seconds = (new Date(at) - Date.now()) / 1000;
      if (Math.abs(seconds) >= 7 * 86400) return short.format(new Date(at));
      for (const [unit, length] of UNITS)
        if (Math.abs(seconds) >= length) return relative.format(Math.trunc(seconds / length), unit);
      return seconds > 0 ? "in a moment" : "just now";
    },
  },
};
