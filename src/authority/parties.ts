import type { ActivityClass } from "../policy/activities.ts";

/** Who requests an activity, and what it is about: the input of decisions. */

/** The user who made a stamp, as of the last read from the database. */
export interface Actor {
  userId: string;
  userName: string;
  /** The user's own organization: that of the request, or its parent. */
  organizationId: string;
  isRootQuorumMember: boolean;
  /** Whether the user has MFA policies. */
  hasMfaPolicies: boolean;
  credential: CredentialRef;
}

/** A credential of a user. */
export interface CredentialRef {
  id: string;
  type: string;
  /** The profile of a session that is limited to one. */
  sessionProfileId?: string;
}

/** A credential that made a stamp, as of then. */
export type ShownCredential = CredentialRef & { publicKey: string };

/** What an activity is about. It states facts and decides nothing. */
export type Subject =
  /** Policies are not evaluated. MFA policies and session profiles see the resource ORGANIZATION and this action; default: UPDATE. */
  | { governedBy: "rootQuorum"; action?: "DELETE" }
  /** The decision was made earlier: anybody whom the operation accepts may do it, without policies, quorum or MFA policies. */
  | { governedBy: "nobody"; resource: "INVITATION"; action: "UPDATE" }
  | {
      governedBy: "policies";
      resource:
        | "AUTH"
        | "AUTH_PROXY"
        | "CONFIG"
        | "CREDENTIAL"
        | "FIAT_TRANSACTION"
        | "INVITATION"
        | "MFA_POLICY"
        | "ON_RAMP_CREDENTIALS"
        | "ORGANIZATION"
        | "OTP"
        | "POLICY"
        | "PRIVATE_KEY"
        | "RECOVERY"
        | "SECRET"
        | "SESSION_PROFILE"
        | "TVC_APP"
        | "TVC_DEPLOYMENT"
        | "TVC_OPERATOR"
        | "TVC_QUORUM_KEY"
        | "SPONSORSHIP"
        | "SMART_CONTRACT_INTERFACE"
        | "USER"
        | "WALLET"
        | "WEBHOOK_ENDPOINT";
      action: ActivityClass["action"];
      /** The owner of the credentials that it is about, if users may manage their own. */
      ownerId?: string;
      /** True if they are the submitter's. */
      isOwn?: true;
      /** The only user who may submit it. A request of anybody else is denied, whatever policies and quorum allow. */
      onlyUserId?: string;
    };
