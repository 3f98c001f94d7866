import { fingerprintOf } from "../../crypto/fingerprint.ts";
import { fail } from "../../kernel/errors.ts";
import type { Occasion, SignerVerb } from "../../signer/protocol.ts";
import type { Reader } from "../../storage/engine.ts";
import type { AskedSigner } from "../services.ts";
import { type ActivityRecord, findVotes } from "./rows.ts";
import { approvingStamps, type CastStamp, type Execution, storedStamps } from "./stamps.ts";

/** What the signer is told of an activity when it is asked for it: its body, its plan, and every stamp that approves it. */
export async function occasionOf(read: Reader, execution: Execution): Promise<Occasion> {
  const { plan } = execution.record;
  const body = await bodyOf(read, execution);
  return occasionWith(body, plan, await approvingStamps(read, execution));
}

/**
 * The signer for what an activity that was carried out still has to have signed, such as another fee of the same transaction. It is
 * told what it was told then: the body, the plan, and the stamps as they are stored.
 *
 * @param inTurnOf whose work it counts as while it waits; the activity's organization's unless said
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
  // As of the activity's last change, its decision or later: a vote that has grown old since still had its part in it.
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

/** The activity's own; of one that is older than the column of bodies, that of the vote which has its fingerprint. */
async function bodyOf(read: Reader, { record, stamp }: Execution): Promise<string> {
  if (record.body !== undefined) return record.body;
  const messages = [stamp.message, ...(await findVotes(read, record)).map(({ message }) => message)];
  const body = messages.find((message) => fingerprintOf(Buffer.from(message)) === record.fingerprint);
  // Whoever submitted it may have voted again since, by its fingerprint.
  return body ?? fail("ACTIVITY_WITHOUT_BODY", { activityId: record.id });
}
