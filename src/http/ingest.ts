import type { Mount } from "./listener.ts";

/** What other services tell this one. Each sender is known by its signature, and anybody may try. */
export const ingest = ({ ses }: { ses: (body: Buffer) => Promise<void> }): Mount => ({
  routes: [
    {
      method: "POST",
      path: "/ingest/ses",
      operation: "ingest_ses",
      accept: () => async (body) => {
        await ses(body);
        return { body: "{}" };
      },
    },
  ],
});
