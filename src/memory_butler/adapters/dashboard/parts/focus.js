// Puts the keyboard on when what it was on has been drawn anew. A dialog and the bar leave slowly, and hold the focus
// until they have; whoever does something meanwhile is left where they are.
const WAIT = 50, MOST = 80;

export default {
  template: `<span hidden></span>`,
  methods: {
    put(places) {
      let left = MOST;
      const gone = () => { left = -1; };
      for (const name of ["pointerdown", "keydown"]) addEventListener(name, gone, { once: true, capture: true });
      const go = () => {
        if (left < 0) return;
        const now = document.activeElement;
        const leaving = document.querySelector(".q-dialog") || now?.closest(".q-notification");
        if (leaving && left-- > 0) { setTimeout(go, WAIT); return; }
        if (now && now !== document.body && !leaving) return;
        places.map((place) => document.querySelector(place)).find(Boolean)?.focus({ preventScroll: true });
      };
      setTimeout(go);
    },
  },
};
