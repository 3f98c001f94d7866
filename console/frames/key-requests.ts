import type { Handlers } from "./channel.ts";
import type { EmbeddedKey } from "./embedded-key.ts";

/** What every frame does with its key. */
export const keyRequests = (key: EmbeddedKey): Handlers => ({
  GET_EMBEDDED_PUBLIC_KEY: { answers: "EMBEDDED_PUBLIC_KEY", handle: () => key.publicKey() },
  INIT_EMBEDDED_KEY: { answers: "EMBEDDED_KEY_INITIALIZED", handle: () => key.ensure() },
  RESET_EMBEDDED_KEY: {
    answers: "EMBEDDED_KEY_RESET",
    handle: () => {
      key.clear();
      return true;
    },
  },
});
