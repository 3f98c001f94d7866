import type { Mount } from "./route.ts";

/** Events that other services send. Anybody may send a request, but each must have its sender's signature. */
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
