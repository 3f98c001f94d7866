import { encryptOtpCodeToBundle } from "@turnkey/crypto";
import { AuthState, ClientState, TurnkeyProvider, useTurnkey } from "@turnkey/react-wallet-kit";
import "@turnkey/react-wallet-kit/styles.css";
import { QRCodeSVG } from "qrcode.react";
import { useState } from "react";
import { createRoot } from "react-dom/client";

/** Signs up with a passkey or a code by mail, and lets the user receive, sign and export, all with the wallet kit. */

const settings = await (await fetch("settings.json")).json();

const config = {
  apiBaseUrl: settings.service,
  authProxyUrl: settings.authProxy,
  authProxyConfigId: settings.configId,
  organizationId: settings.organizationId,
  importIframeUrl: `${settings.service}/frames/import`,
  exportIframeUrl: `${settings.service}/frames/export`,
};

/** Every user gets one when they sign up. */
const customWallet = {
  walletName: "My wallet",
  walletAccounts: [
    {
      curve: "CURVE_SECP256K1",
      pathFormat: "PATH_FORMAT_BIP32",
      path: "m/44'/60'/0'/0/0",
      addressFormat: "ADDRESS_FORMAT_ETHEREUM",
    },
  ],
};

/** Runs a button's action, one at a time, and keeps the error. */
function useTask() {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const run = async (task) => {
    setBusy(true);
    setProblem("");
    try {
      await task();
    } catch (error) {
      setProblem(error.cause?.message ?? error.message);
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, problem, run };
}

function SignIn() {
  const kit = useTurnkey();
  const { isBusy, problem, run } = useTask();
  const [sent, setSent] = useState();

  const send = async (fields) => {
    const contact = fields.get("email");
    setSent({ contact, ...(await kit.initOtp({ otpType: "OTP_TYPE_EMAIL", contact })) });
  };

  /**
   * What the kit's own form does, but for one thing: the form encrypts the code to a key of the hosted service, which cannot be
   * configured; this encrypts it to the key of your server.
   */
  const enter = async (fields) => {
    const { contact, otpId, otpEncryptionTargetBundle } = sent;
    const code = fields.get("code").trim();
    const publicKey = await kit.createApiKeyPair();
    const encryptedOtpBundle = await encryptOtpCodeToBundle(
      code,
      otpEncryptionTargetBundle,
      publicKey,
      settings.otpKey,
    );
    const { verificationToken } = await kit.httpClient.proxyVerifyOtpV2({ otpId, encryptedOtpBundle });
    const { organizationId } = await kit.httpClient.proxyGetAccount({
      filterType: "EMAIL",
      filterValue: contact,
      verificationToken,
    });
    if (organizationId) await kit.loginWithOtp({ verificationToken, organizationId });
    else {
      const createSubOrgParams = { userName: contact, customWallet };
      await kit.signUpWithOtp({ verificationToken, contact, otpType: "OTP_TYPE_EMAIL", createSubOrgParams });
    }
  };

  const submit = (task) => (event) => {
    event.preventDefault();
    const fields = new FormData(event.target);
    void run(() => task(fields));
  };

  return (
    <>
      <button
        type="button"
        disabled={isBusy}
        onClick={() => run(() => kit.signUpWithPasskey({ createSubOrgParams: { customWallet } }))}
      >
        Sign up with a passkey
      </button>
      <button type="button" disabled={isBusy} onClick={() => run(() => kit.loginWithPasskey())}>
        Sign in with a passkey
      </button>
      {sent ? (
        <form key="code" onSubmit={submit(enter)}>
          <label>
            Code <input name="code" autoComplete="one-time-code" required />
          </label>
          <button type="submit" disabled={isBusy}>
            Continue
          </button>
        </form>
      ) : (
        <form key="email" onSubmit={submit(send)}>
          <label>
            E-mail <input name="email" type="email" autoComplete="email" required />
          </label>
          <button type="submit" disabled={isBusy}>
            Send me a code
          </button>
        </form>
      )}
      <p role="alert">{problem}</p>
    </>
  );
}

function Wallet() {
  const { wallets, handleSignMessage, handleExportWallet, logout } = useTurnkey();
  const { isBusy, problem, run } = useTask();
  const [signature, setSignature] = useState("");
  const [wallet] = wallets;
  const account = wallet?.accounts[0];
  if (!account) return <p>Fetching your wallet</p>;

  const sign = async () => {
    const { r, s, v } = await handleSignMessage({
      message: "hello",
      walletAccount: account,
      // In the form of EIP-191, which wallets check.
      addEthereumPrefix: true,
      // The kit's success page would fetch an animation from lottie.host.
      successPageDuration: 0,
    });
    setSignature(`0x${r}${s}${(27 + Number.parseInt(v, 16)).toString(16)}`);
  };

  return (
    <>
      <h2>Receive</h2>
      <QRCodeSVG value={account.address} role="img" aria-label="Address as a QR code" />
      <p>
        <output id="address">{account.address}</output>
      </p>
      <h2>Use</h2>
      <button type="button" disabled={isBusy} onClick={() => run(sign)}>
        Sign a message
      </button>
      <button
        type="button"
        disabled={isBusy}
        onClick={() => run(() => handleExportWallet({ walletId: wallet.walletId }))}
      >
        Export the wallet
      </button>
      <button type="button" disabled={isBusy} onClick={() => run(() => logout())}>
        Sign out
      </button>
      <p>
        <output id="signature" style={{ overflowWrap: "anywhere" }}>
          {signature}
        </output>
      </p>
      <p role="alert">{problem}</p>
    </>
  );
}

function App() {
  const { clientState, authState } = useTurnkey();
  if (clientState === ClientState.Error) return <p role="alert">The service does not answer as it should.</p>;
  if (clientState !== ClientState.Ready) return <p>Asking the service</p>;
  return authState === AuthState.Authenticated ? <Wallet /> : <SignIn />;
}

createRoot(document.getElementById("app")).render(
  <TurnkeyProvider config={config}>
    <h1>An embedded wallet</h1>
    <App />
  </TurnkeyProvider>,
);
