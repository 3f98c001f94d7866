import { type Static, Type } from "typebox";
import { KEY_PAIR_DIGITS, parseKeyPair } from "../../crypto/manifests/approvals.ts";
import { quorumEnvelopeBytes } from "../../crypto/quorum-encryption.ts";
import { Id, IdOrEmpty, Label, List, OneOf, Strict, Timestamp } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import {
  MAX_PIVOT_ARG_LENGTH,
  MAX_PIVOT_ARGS,
  MAX_PIVOT_PATH_LENGTH,
  MAX_PULL_SECRET_BYTES,
  MAX_TVC_OPERATORS_OF_SET,
  MAX_TVC_REPLICAS,
} from "../../kernel/limits.ts";
import { MAX_IMAGE_REFERENCE_LENGTH, parseImageReference } from "../../providers/oci/reference.ts";

/** An encryption key followed by a signing key. */
const KEY_PAIR = "two uncompressed points of P-256 in hex, the encryption key and then the signing key";
export const KeyPair = Type.String({ pattern: `^[0-9a-fA-F]{${KEY_PAIR_DIGITS}}$`, description: KEY_PAIR });

export const OperatorSetParams = Strict({
  name: Label,
  newOperators: Type.Optional(List(Strict({ name: Label, publicKey: KeyPair }), MAX_TVC_OPERATORS_OF_SET)),
  existingOperatorIds: Type.Optional(List(Id, MAX_TVC_OPERATORS_OF_SET)),
  threshold: Type.Integer({ minimum: 1, maximum: MAX_TVC_OPERATORS_OF_SET }),
});
export type OperatorSetParams = Static<typeof OperatorSetParams>;

export const AppParams = Strict({
  name: Label,
  quorumPublicKey: KeyPair,
  manifestSetId: Type.Optional(IdOrEmpty),
  manifestSetParams: Type.Optional(OperatorSetParams),
  shareSetId: Type.Optional(IdOrEmpty),
  shareSetParams: Type.Optional(OperatorSetParams),
  enableEgress: Type.Optional(Type.Boolean()),
  enableDebugModeDeployments: Type.Optional(Type.Boolean()),
});
export type AppParams = Static<typeof AppParams>;

export const MIN_SHARE_THRESHOLD = 2;

/** @throws KeysteadError TVC_OPERATOR_SET_INVALID or FIELD_INVALID */
export function checkApp({ quorumPublicKey, ...params }: AppParams): void {
  if (!parseKeyPair(quorumPublicKey)) refuseKey("parameters.quorumPublicKey");
  for (const kind of ["manifestSet", "shareSet"] as const) {
    const [id, set, field] = [params[`${kind}Id`], params[`${kind}Params`], `parameters.${kind}Params`];
    if (Boolean(id) === Boolean(set)) {
      fail("TVC_OPERATOR_SET_INVALID", {
        field,
        reason: `and \`${kind}Id\` are ${set ? "both given; give only one of them" : "both missing; give one of them"}`,
      });
    }
    if (set) checkSet(set, field);
  }
  if (params.shareSetParams && params.shareSetParams.threshold < MIN_SHARE_THRESHOLD) {
    const reason = `must be at least ${MIN_SHARE_THRESHOLD}, so that nobody holds the whole key`;
    fail("TVC_OPERATOR_SET_INVALID", { field: "parameters.shareSetParams.threshold", reason });
  }
}

function checkSet({ newOperators = [], existingOperatorIds = [], threshold }: OperatorSetParams, field: string): void {
  const size = newOperators.length + existingOperatorIds.length;
  if (size === 0 || size > MAX_TVC_OPERATORS_OF_SET) {
    fail("TVC_OPERATOR_SET_INVALID", { field, reason: `must have 1 to ${MAX_TVC_OPERATORS_OF_SET} operators` });
  }
  if (threshold > size) {
    fail("TVC_OPERATOR_SET_INVALID", {
      field: `${field}.threshold`,
      reason: `is more than the number of operators, ${size}`,
    });
  }
  newOperators.forEach(({ publicKey }, index) => {
    if (!parseKeyPair(publicKey)) refuseKey(`${field}.newOperators.${index}.publicKey`);
  });
}

function refuseKey(field: string): never {
  return fail("FIELD_INVALID", { field, reason: `must be ${KEY_PAIR}` });
}

export const healthCheckTypes = ["TVC_HEALTH_CHECK_TYPE_HTTP", "TVC_HEALTH_CHECK_TYPE_GRPC"] as const;

const Port = Type.Integer({ minimum: 1, maximum: 65_535 });

export const ImageUrl = Type.String({ minLength: 1, maxLength: MAX_IMAGE_REFERENCE_LENGTH });

export const PullSecret = Type.String({
  pattern: "^(?:[0-9a-fA-F]{2})*$",
  maxLength: 2 * quorumEnvelopeBytes(MAX_PULL_SECRET_BYTES),
  description: `an even number of hex digits, the envelope of a pull secret of at most ${MAX_PULL_SECRET_BYTES} bytes; or empty`,
});

export const DeploymentParams = Strict({
  appId: Id,
  qosVersion: Label,
  pivotContainerImageUrl: ImageUrl,
  pivotPath: Type.String({
    maxLength: MAX_PIVOT_PATH_LENGTH,
    pattern: "^(/[^/\\u0000-\\u001f]+)+$",
    description: "an absolute path, such as /usr/local/bin/app",
  }),
  pivotArgs: List(Type.String({ maxLength: MAX_PIVOT_ARG_LENGTH }), MAX_PIVOT_ARGS),
  expectedPivotDigest: Type.String({
    pattern: "^(sha256:)?[0-9a-fA-F]{64}$",
    description: "the SHA-256 of the program: 64 hex digits, with or without `sha256:`",
  }),
  nonce: Type.Optional(Type.Integer({ minimum: 0, maximum: 0xffff_ffff })),
  pivotContainerEncryptedPullSecret: Type.Optional(PullSecret),
  debugMode: Type.Optional(Type.Boolean()),
  healthCheckType: OneOf(healthCheckTypes),
  healthCheckPort: Port,
  publicIngressPort: Port,
  replicas: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_TVC_REPLICAS })),
});
export type DeploymentParams = Static<typeof DeploymentParams>;

/** @throws KeysteadError FIELD_INVALID */
export function checkImage(text: string, field: string): void {
  const parsed = parseImageReference(text);
  if ("problem" in parsed) fail("FIELD_INVALID", { field, reason: parsed.problem });
}

export const TvcOperator = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    publicKey: Type.String(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    encryptPublicKey: Type.String(),
    signPublicKey: Type.String(),
    keySource: OneOf(["EXTERNAL_KEY", "ORG_WALLET_ACCOUNT"]),
  },
  { $id: "TvcOperator" },
);
export type TvcOperator = Static<typeof TvcOperator>;

export const TvcOperatorSet = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    organizationId: Type.String(),
    operators: Type.Array(TvcOperator),
    threshold: Type.Integer(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { $id: "TvcOperatorSet" },
);
export type TvcOperatorSet = Static<typeof TvcOperatorSet>;

/** An uncompressed point of P-256, in lowercase as in all responses. */
export const POINT = "an uncompressed point of P-256: 130 hex digits in lowercase";
export const Point = Type.String({ pattern: "^04[0-9a-f]{128}$", description: POINT });

export const TvcQuorumKey = Type.Object(
  {
    id: Type.String(),
    publicKey: Type.String(),
    threshold: Type.Integer(),
    operatorIds: Type.Array(Type.String()),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    /** For operators whose keys are not on this server: each can decrypt its own share. */
    shares: Type.Array(
      Type.Object({ shareId: Type.String(), operatorId: Type.String(), encryptedShare: Type.String() }),
    ),
  },
  { $id: "TvcQuorumKey" },
);
export type TvcQuorumKey = Static<typeof TvcQuorumKey>;

export const provisioningStates = [
  "PROVISIONING_STATE_PENDING",
  "PROVISIONING_STATE_AWAITING_PROVISION",
  "PROVISIONING_STATE_PROVISIONED",
] as const;
export type ProvisioningState = (typeof provisioningStates)[number];

export const TvcApp = Type.Object(
  {
    id: Type.String(),
    organizationId: Type.String(),
    name: Type.String(),
    quorumPublicKey: Type.String(),
    manifestSet: TvcOperatorSet,
    shareSet: TvcOperatorSet,
    enableEgress: Type.Boolean(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    liveDeploymentId: Type.Optional(Type.String()),
    publicDomain: Type.String(),
    enableDebugModeDeployments: Type.Boolean(),
  },
  { $id: "TvcApp" },
);
export type TvcApp = Static<typeof TvcApp>;

export const TvcDeployment = Type.Object(
  {
    id: Type.String(),
    organizationId: Type.String(),
    appId: Type.String(),
    manifestSet: TvcOperatorSet,
    shareSet: TvcOperatorSet,
    manifest: Type.Object({
      id: Type.String(),
      /** Base64 of the canonical JSON. */
      manifest: Type.String(),
      createdAt: Timestamp,
      updatedAt: Timestamp,
    }),
    manifestApprovals: Type.Array(
      Type.Object({
        id: Type.String(),
        manifestId: Type.String(),
        operator: TvcOperator,
        /** Base64 of r || s. */
        approval: Type.String(),
        createdAt: Timestamp,
        updatedAt: Timestamp,
      }),
    ),
    qosVersion: Type.String(),
    pivotContainer: Type.Object({
      containerUrl: Type.String(),
      path: Type.String(),
      args: Type.Array(Type.String()),
      hasPullSecret: Type.Boolean(),
      healthCheckType: OneOf(healthCheckTypes),
      healthCheckPort: Type.Integer(),
      publicIngressPort: Type.Integer(),
    }),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    delete: Type.Boolean(),
    debugMode: Type.Boolean(),
  },
  { $id: "TvcDeployment" },
);
export type TvcDeployment = Static<typeof TvcDeployment>;
