// A plain table. A cell holds text, a coloured label, a time, or a share as a bar.
import { ago, exact } from "/dashboard/dates.js";

export default {
  props: { columns: Array, rows: Array, label: String, action: String, empty: String },
  emits: ["action"],
  template: `
  <p v-if="!rows.length" class="mb-muted mb-rows-empty">{{ empty }}</p>
  <div v-else class="mb-rows-scroll"><table class="mb-table mb-rows" :aria-label="label">
    <thead><tr>
      <th v-for="column in columns" :key="column.label" :class="{ 'mb-right': column.right }" scope="col">{{
        column.label
        }}</th>
      <th v-if="action" scope="col"><span class="mb-visually-hidden">Actions</span></th>
    </tr></thead>
    <tbody>
      <tr v-for="row in rows" :key="row.key" :data-key="row.key" :class="{ 'mb-rows-inactive': row.is_inactive }">
        <td v-for="(cell, index) in row.cells" :key="index" :data-label="columns[index].label"
          :class="{ 'mb-right': columns[index].right, 'mb-number': columns[index].right }">
          <time v-if="cell.at" :datetime="cell.at" :title="exact(cell.at)">{{ ago(cell.at) }}</time>
          <span v-else-if="cell.tone" class="mb-chip" :class="'mb-chip-' + cell.tone">{{ cell.text }}</span>
          <span v-else class="mb-text" :class="{ 'mb-muted': cell.muted, 'mb-nowrap': cell.nowrap }" dir="auto">{{
            cell.text }}</span>
          <span v-if="cell.share !== undefined" class="mb-rows-bar" aria-hidden="true"><i
            :style="{ width: cell.share + '%' }"></i></span>
          <div v-if="cell.note" class="mb-muted mb-small mb-text" dir="auto">{{ cell.note }}</div>
        </td>
        <td v-if="action" class="mb-right"><button v-if="row.has_action" type="button"
          class="mb-button-outline mb-small"
          :aria-label="action + ' ' + row.name" @click="$emit('action', row.key)">{{ action }}</button></td>
      </tr>
    </tbody>
  </table></div>`,
  methods: {
    exact,
    ago,
  },
};
