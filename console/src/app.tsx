import { useQueryClient } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { SignIn } from "./pages/sign-in.tsx";
import { leaveWelcome, Welcome, welcomeToken } from "./pages/welcome.tsx";
import { Loading } from "./parts/loading.tsx";
import { router } from "./router.tsx";
import { SessionProvider } from "./session/context.tsx";
import { resumeSession, type Session, signOut } from "./session/session.ts";

/** Asks who it is, and shows the pages to them. */
export function App() {
  const [session, setSession] = useState<Session>();
  const [isResuming, setResuming] = useState(true);
  const [token, setToken] = useState(welcomeToken);
  const queries = useQueryClient();
  useEffect(() => {
    resumeSession()
      // Whoever cannot go on where they were signs in.
      .then(setSession, () => undefined)
      .finally(() => setResuming(false));
  }, []);
  if (isResuming) return <Loading fillsWindow />;
  const leaveWelcomePage = () => {
    leaveWelcome();
    setToken(undefined);
  };
  if (!session && token !== undefined) {
    const enter = (made: Session) => {
      leaveWelcomePage();
      setSession(made);
    };
    return <Welcome token={token} onSignedIn={enter} onLeave={leaveWelcomePage} />;
  }
  if (!session) return <SignIn onSignedIn={setSession} />;
  const leave = () => {
    setSession(undefined);
    queries.clear();
    void signOut(session);
  };
  return (
    <SessionProvider session={session} leave={leave}>
      <RouterProvider router={router} />
    </SessionProvider>
  );
}
