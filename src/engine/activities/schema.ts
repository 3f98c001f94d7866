import { type TProperties, type TSchema, Type } from "typebox";
import { OneOf, Timestamp } from "../fields.ts";
import { User } from "../identity/user-schemas.ts";
import type { ActivityOperation } from "../operations.ts";
import { AppProof } from "../proofs/app-proofs.ts";
import { activityStatuses } from "./rows.ts";

/** The shapes of activities in responses, for documentation and for checking what is sent. */

const Vote = Type.Object(
  {
    id: Type.String(),
    userId: Type.String(),
    user: User,
    activityId: Type.String(),
    selection: OneOf(["VOTE_SELECTION_APPROVED", "VOTE_SELECTION_REJECTED"]),
    message: Type.String(),
    publicKey: Type.String(),
    signature: Type.String(),
    scheme: Type.String(),
    /** An extension of this server: the vote does not count, because its credential or user was deleted before the decision. */
    revokedAt: Type.Optional(Timestamp),
    createdAt: Timestamp,
  },
  { $id: "Vote" },
);

const Failure = Type.Object(
  {
    code: Type.Optional(Type.Integer()),
    message: Type.Optional(Type.String()),
    details: Type.Optional(Type.Array(Type.Object({ "@type": Type.Optional(Type.String()) }))),
  },
  { $id: "Failure" },
);

/** A time of an activity: seconds and nanoseconds for the published SDKs, RFC 3339 for all other clients. */
const ActivityTime = Type.Union([Type.String({ format: "date-time" }), Timestamp]);

function activityShape(type: TSchema, intent: TSchema, result: TSchema): TSchema {
  return Type.Object({
    id: Type.String(),
    organizationId: Type.String(),
    status: OneOf(activityStatuses),
    type,
    intent,
    result,
    votes: Type.Array(Vote),
    appProofs: Type.Optional(Type.Array(AppProof)),
    fingerprint: Type.String(),
    canApprove: Type.Boolean(),
    canReject: Type.Boolean(),
    votingRightsUnknown: Type.Optional(
      Type.String({
        description:
          "Why `canApprove` and `canReject` are false although it takes too much work to tell. An extension of this server.",
      }),
    ),
    createdAt: ActivityTime,
    updatedAt: ActivityTime,
    failure: Type.Optional(Failure),
  });
}

/** The activity in the response of a submit operation, with that operation's types, intents and results. */
export function activityOf({ versions }: ActivityOperation): TSchema {
  const all = [...versions.values()];
  const intents: TProperties = {};
  const results: TProperties = {};
  for (const { intentKey, intent, resultKey, result } of all) {
    intents[intentKey] = Type.Optional(intent);
    results[resultKey] = Type.Optional(result);
  }
  const oneKey = (properties: TProperties) => Type.Object(properties, { maxProperties: 1 });
  return activityShape(OneOf(all.map(({ type }) => type)), oneKey(intents), oneKey(results));
}

/** Any activity type. The OpenAPI document lists the types of all operations. */
export const ActivityType = Type.String({
  $id: "ActivityType",
  pattern: "^ACTIVITY_TYPE_[A-Z0-9_]+$",
  description: "an activity type, such as ACTIVITY_TYPE_CREATE_WALLET",
});

const oneMember = Type.Object({}, { description: "One member, named after the activity's type." });

/** Any activity, as in the responses of activity queries. */
export const AnyActivity = activityShape(ActivityType, oneMember, oneMember);
