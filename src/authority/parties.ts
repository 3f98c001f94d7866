import type { ActivityClass } from "../policy/activities.ts";

/** Who asks for something, and for what, as whoever decides is told it. */

/** The user behind a stamp, as of the last look at the database. */
export interface Actor {
  userId: string;
  userName: string;
  /** The user's own organization: the request's, or its parent. */
  organizationId: string;
  isRootQuorumMember: boolean;
  /** Whether there are MFA policies to look at. */
  hasMfaPolicies: boolean;
  credential: CredentialRef;
}

/** A credential by which somebody is known. */
export interface CredentialRef {
  id: string;
  type: string;
  /** Of a session that is limited to what its profile allows. */
  sessionProfileId?: string;
}

/** A credential that made a stamp, as it was then. */
export type ShownCredential = CredentialRef & { publicKey: string };

/** What an activity is about, for whoever decides about it. It states facts and decides nothing. */
export type Subject =
  /** No policy is asked; MFA policies and session profiles see the action on the ORGANIZATION, UPDATE unless said. */
  | { governedBy: "rootQuorum"; action?: "DELETE" }
  /** Decided on before: whomever the operation takes may do it, and no policy, quorum or MFA policy is asked. */
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
      /** Whose credentials these are, where users may manage their own. */
      ownerId?: string;
      /** Whether they are those of whoever asks. */
      isOwn?: true;
      /** The user who alone may ask for it: a request of anybody else is denied, whatever policies and quorum say. */
      onlyUserId?: string;
    };
