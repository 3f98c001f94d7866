import { fingerprintOf } from "../../crypto/fingerprint.ts";
import { fail } from "../../kernel/errors.ts";
import type { Occasion, SignerVerb } from "../../signer/protocol.ts";
import type { Reader } from "../../storage/engine.ts";
import type { AskedSigner } from "../services.ts";
import { type ActivityRecord, findVotes } from "./rows.ts";
import { approvingStamps, type CastStamp, type Execution, storedStamps } from "./stamps.ts";

/** What the signer receives with a request for an activity: the activity's body, its plan, and every stamp that approves it. */
export async function occasionOf(read: Reader, execution: Execution): Promise<Occasion> {
  const { plan } = execution.record;
  const body = await bodyOf(read, execution);
  return occasionWith(body, plan, await approvingStamps(read, execution));
}

/**
 * The signer for an activity that was carried out already and needs another signature, such as the same transaction with a higher fee. It
 * receives what it received the first time: the body, the plan and the stored stamps.
 *
 * @param inTurnOf the organization on whose account the request waits; default: the activity's
 * @throws KeysteadError ACTIVITY_WITHOUT_BODY
 */
export async function signerForActivity<Verb extends SignerVerb>(
  read: Reader,
  signer: AskedSigner<Verb>,
  record: ActivityRecord,
  inTurnOf: string = record.organizationId,
): Promise<AskedSigner<Verb>> {
  const { body, plan, id: activityId } = record;
  if (body === undefined) return fail("ACTIVITY_WITHOUT_BODY", { activityId });
  // As of the activity's last change, which is its decision or later: votes that have expired since counted at that time.
  const occasion = occasionWith(body, plan, await storedStamps(read, record, record.updatedAt));
  return { ask: (request) => signer.ask(request, { organizationId: inTurnOf, occasion }) };
}

function occasionWith(body: string, plan: unknown, stamps: readonly CastStamp[]): Occasion {
  const ballots = stamps.map(({ userId, publicKey, scheme, signature, message, assertion }) => ({
    userId,
    publicKey,
    scheme,
    signature,
    ...(message === body ? {} : { message }),
    ...(assertion === null ? {} : { assertion }),
  }));
  return { body, ...(plan === undefined ? {} : { plan }), ballots };
}

/** The activity's body. For activities from before bodies had a column, the message of the vote with the activity's fingerprint. */
async function bodyOf(read: Reader, { record, stamp }: Execution): Promise<string> {
  if (record.body !== undefined) return record.body;
  const messages = [stamp.message, ...(await findVotes(read, record)).map(({ message }) => message)];
  const body = messages.find((message) => fingerprintOf(Buffer.from(message)) === record.fingerprint);
  // Missing if the submitter has voted again since, by fingerprint.
  return body ?? fail("ACTIVITY_WITHOUT_BODY", { activityId: record.id });
}
