import type { AuthenticationType, Contact, ContactType } from "./state.ts";

/** What a token attests has no credential type in the API; policies, MFA and votes have these. */
export const attestedTypes = {
  EMAIL: "CREDENTIAL_TYPE_ATTESTED_EMAIL",
  PHONE_NUMBER: "CREDENTIAL_TYPE_ATTESTED_PHONE_NUMBER",
  OAUTH: "CREDENTIAL_TYPE_ATTESTED_OAUTH",
} as const;

const ofContacts: readonly string[] = [attestedTypes.EMAIL, attestedTypes.PHONE_NUMBER];

/** Whether a type of credential is that of a contact, which a user has or has not. */
export const isContact = (type: string): boolean => ofContacts.includes(type);

export const isAttested = (type: string): boolean => type === attestedTypes.OAUTH || isContact(type);

/** A contact has no id of its own: its URI (RFC 6068, RFC 3966) stands for one. */
export const contactCredential = (contact: Contact): { id: string; type: string } => ({
  id: contact.type === "EMAIL" ? `mailto:${contact.value}` : `tel:${contact.value}`,
  type: attestedTypes[contact.type],
});

/** The feature of an organization by which its users sign in with codes that are sent to contacts of a type. */
export const otpFeatures: Record<ContactType, string> = {
  EMAIL: "FEATURE_NAME_OTP_EMAIL_AUTH",
  PHONE_NUMBER: "FEATURE_NAME_SMS_AUTH",
};

/** What MFA policies call codes that are sent to contacts of a type. */
export const otpMethods = {
  EMAIL: "AUTHENTICATION_TYPE_EMAIL_OTP",
  PHONE_NUMBER: "AUTHENTICATION_TYPE_SMS_OTP",
} as const satisfies Record<ContactType, AuthenticationType>;
