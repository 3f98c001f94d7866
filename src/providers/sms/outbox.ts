import { writeWhole } from "../write-file.ts";
import type { SmsSender } from "./sms-sender.ts";

/** Writes each message as a `.txt` file with the number on its first line, for installations without a gateway. */
export const createOutboxSms = (folder: string): SmsSender => ({
  async send({ id, to, text }) {
    try {
      await writeWhole(folder, `${id}.txt`, Buffer.from(`${to}\n${text}\n`));
      return { result: "accepted" };
    } catch (error) {
      return { result: "deferred", reason: `the outbox cannot be written: ${(error as Error).message}` };
    }
  },
});
