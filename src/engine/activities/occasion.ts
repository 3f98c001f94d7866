import { fail } from "../../kernel/errors.ts";
import type { Occasion } from "../../signer/protocol.ts";
import type { Reader } from "../../storage/engine.ts";
import { fingerprintOf } from "../identity/authenticate.ts";
import { findVotes } from "./records.ts";
import { approvingStamps, type Execution } from "./stamps.ts";

/** What the signer is told of an activity when it is asked for it: its body, its plan, and every stamp that approves it. */
export async function occasionOf(read: Reader, execution: Execution): Promise<Occasion> {
  const { plan } = execution.record;
  const body = await bodyOf(read, execution);
  const ballots = (await approvingStamps(read, execution)).map(
    ({ userId, publicKey, scheme, signature, message, assertion }) => ({
      userId,
      publicKey,
      scheme,
      signature,
      ...(message === body ? {} : { message }),
      ...(assertion === null ? {} : { assertion }),
    }),
  );
  return { body, ...(plan === undefined ? {} : { plan }), ballots };
}

/** The activity's own; of one that is older than the column of bodies, that of the vote which has its fingerprint. */
async function bodyOf(read: Reader, { record, stamp }: Execution): Promise<string> {
  if (record.body !== undefined) return record.body;
  const messages = [stamp.message, ...(await findVotes(read, record)).map(({ message }) => message)];
  const body = messages.find((message) => fingerprintOf(Buffer.from(message)) === record.fingerprint);
  // Whoever submitted it may have voted again since, by its fingerprint.
  return body ?? fail("ACTIVITY_WITHOUT_BODY", { activityId: record.id });
}
