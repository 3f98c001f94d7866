import { type Static, Type } from "typebox";
import type { Retention } from "../engine/services.ts";
import { DAY_MS } from "../kernel/durations.ts";
import { DEFAULT_RETENTION_DAYS } from "../kernel/limits.ts";

/** The configuration file's setting for how long webhook and mail events are kept. */

const Days = (least: number) => Type.Optional(Type.Integer({ minimum: least, maximum: 3650 }));

export const RetentionSetting = Type.Object(
  { webhookEvents: Days(1), mailEvents: Days(7) },
  {
    additionalProperties: false,
    description: `How many days events are kept, only in the configuration file: "webhookEvents", with their deliveries and attempts, and "mailEvents", with what is known about the mail, at least 7. The default is ${DEFAULT_RETENTION_DAYS}, and the most is 3650.`,
  },
);

export function retentionOf({
  webhookEvents = DEFAULT_RETENTION_DAYS,
  mailEvents = DEFAULT_RETENTION_DAYS,
}: Static<typeof RetentionSetting>): Retention {
  return { webhookEventsMs: webhookEvents * DAY_MS, mailEventsMs: mailEvents * DAY_MS };
}
