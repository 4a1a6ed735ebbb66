// Items that need attention, each with a link or a button to fix it.
import { day, exact } from "/dashboard/dates.js";

export default {
  props: { items: Array },
  emits: ["action"],
  template: `
  <ul class="mb-attention">
    <li v-for="item in items" :key="item.key" :data-kind="item.kind">
      <q-icon :name="item.icon" :class="'mb-tone-' + item.tone" aria-hidden="true"></q-icon>
      <div class="mb-attention-text">
        <a :href="item.href" class="mb-text" dir="auto">{{ item.title }}</a>
        <p class="mb-muted mb-small">{{ item.detail }}<template v-if="item.at">&nbsp;<time :datetime="item.at"
          :title="exact(item.at)">{{ day(item.at) }}</time></template></p>
      </div>
      <button v-if="item.action" type="button" class="mb-button-outline" :aria-label="item.action + ': ' + item.title"
        @click="$event.detail > 1 || $emit('action', item.key)">{{ item.action }}</button>
      <a v-else class="mb-attention-link" :href="item.href">{{ item.go }}</a>
    </li>
  </ul>`,
  methods: {
    day,
    exact,
  },
};
