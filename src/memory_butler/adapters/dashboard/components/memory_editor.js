// The fields of a memory, each edited in place: a click or Enter opens a field, Enter saves it, Escape leaves it.
export default {
  props: { fields: Array, version: Number },
  emits: ["save"],
  data() {
    return { editing: "", typed: "" };
  },
  watch: {
    version() {
      this.editing = "";
    },
  },
  template: `
  <dl class="mb-pairs mb-editor">
    <template v-for="field in fields" :key="field.name"><dt :id="'mb-field-' + field.name">{{ field.label }}</dt><dd>
      <form v-if="editing === field.name" class="mb-editor-form" @submit.prevent="save(field)"
        @keydown.esc.stop="close(field)">
        <textarea v-if="field.form === 'area'" ref="input" v-model="typed" class="mb-input mb-editor-area" rows="4"
          :maxlength="field.most" dir="auto" :aria-labelledby="'mb-field-' + field.name" required
          @keydown.ctrl.enter="save(field)" @keydown.meta.enter="save(field)"></textarea>
        <select v-else-if="field.form === 'choice'" ref="input" v-model="typed" class="mb-input"
          :aria-labelledby="'mb-field-' + field.name"><option v-for="choice in field.choices" :key="choice"
          :value="choice">{{ choice }}</option></select>
        <input v-else ref="input" v-model="typed" class="mb-input" :maxlength="field.most" dir="auto"
          :aria-labelledby="'mb-field-' + field.name" :placeholder="field.hint">
        <button type="submit" class="mb-button" :disabled="typed === field.value">Save</button>
        <button type="button" class="mb-tool" @click="close(field)">Cancel</button>
      </form>
      <button v-else-if="field.editable" type="button" class="mb-editable mb-text" dir="auto" :data-field="field.name"
        :title="'Edit ' + field.label.toLowerCase()" @click="open(field)">{{ field.text || "–" }}<q-icon name="edit"
        aria-hidden="true"></q-icon></button>
      <span v-else class="mb-text" dir="auto">{{ field.text || "–" }}</span></dd></template>
  </dl>`,
  methods: {
    open(field) {
      this.editing = field.name;
      this.typed = field.value;
      this.$nextTick(() => {
        const [input] = this.$refs.input || [];
        input?.focus();
        input?.select?.();
      });
    },
    // The first field: what the memory says.
    edit() {
      const field = this.fields.find((one) => one.editable);
      if (field) this.open(field);
    },
    close(field) {
      this.editing = "";
      this.$nextTick(() => this.$el.querySelector(`[data-field="${field.name}"]`)?.focus());
    },
    save(field) {
      if (this.typed.trim() === field.value) this.close(field);
      else this.$emit("save", field.name, this.typed.trim());
    },
  },
};
