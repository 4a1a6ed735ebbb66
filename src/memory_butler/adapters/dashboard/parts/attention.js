// What somebody should look at, each with the way to its fix.
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

export default {
  props: { items: Array },
  emits: ["act"],
  template: `
  <ul class="mb-attention">
    <li v-for="item in items" :key="item.key" :data-kind="item.kind">
      <q-icon :name="item.icon" :class="'mb-tone-' + item.tone" aria-hidden="true"></q-icon>
      <div class="mb-attention-words">
        <a :href="item.href" class="mb-words" dir="auto">{{ item.title }}</a>
        <p class="mb-muted mb-small">{{ item.detail }}<template v-if="item.at">&nbsp;<time :datetime="item.at" :title="exactly(item.at)">{{ said(item.at) }}</time></template></p>
      </div>
      <button v-if="item.action" type="button" class="mb-plain" :aria-label="item.action + ': ' + item.title" @click="$event.detail > 1 || $emit('act', item.key)">{{ item.action }}</button>
      <a v-else class="mb-attention-go" :href="item.href">{{ item.go }}</a>
    </li>
  </ul>`,
  methods: {
    said(at) { return day.format(new Date(at)); },
    exactly(at) { return exact.format(new Date(at)); },
  },
};
