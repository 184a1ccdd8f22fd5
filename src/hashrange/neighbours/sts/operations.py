"""The operations of STS: the caller's identity, and sessions of roles and users."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, final

from hashrange.errors import AccessDeniedException
from hashrange.identities.records import Identity
from hashrange.identities.sessions import (
    Session,
    new_access_key_id,
    new_secret,
    seal_session,
    session_arn,
    session_user_id,
)
from hashrange.identities.store import IdentityStore
from hashrange.limits import SESSION_POLICY_CHARACTERS_MAX
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError
from hashrange.neighbours.sts.trust import TrustContext, session_tags
from hashrange.policies.documents import Kind, MalformedPolicyError, compile_policy
from hashrange.policies.evaluation import evaluate

_ROLE_SECONDS: Final = 3600
_CHAINED_SECONDS_MAX: Final = 3600
_USER_SECONDS: Final = 43_200
_POLICY_ARNS_MAX: Final = 10
_ROLE_ARN: Final = re.compile(r"arn:aws:iam::([0-9]{12}):role/(?:[!-~]+/)?([\w+=,.@-]+)")


def _invalid(message: str) -> ServiceError:
    return ServiceError("ValidationError", message)


@final
class Tokens:
    """Operations on sessions."""

    def __init__(self, store: IdentityStore) -> None:
        self._store = store

    async def get_caller_identity(self, scope: Scope, parameters: Parameters) -> Result:
        """Return the principal that signed the request.

        A principal without a unique id of its own is shown by its access key; the root user of an
        account by the account, as on AWS.
        """
        grants = scope.grants
        is_root = scope.principal_arn.endswith(":root")
        user_id = scope.account if is_root else scope.access_key
        if grants is not None:
            user_id = grants.principal.keys.get("aws:userid", user_id)
        return {"UserId": user_id, "Account": scope.account, "Arn": scope.principal_arn}

    async def assume_role(self, scope: Scope, parameters: Parameters) -> Result:
        """Return credentials of a session of a role."""
        arn = parameters["RoleArn"]
        found = _ROLE_ARN.fullmatch(arn)
        if found is None:
            raise _invalid(f"{arn} is invalid")
        directory = await self._store.refresh()
        role = directory.identity("role", *found.groups())
        if role is None or role.arn != arn:
            raise _not_authorized(scope, "sts:AssumeRole", arn)
        _check_trust(scope, role, parameters)
        session = Session(
            "role",
            role.account,
            role.name,
            role.id,
            parameters["RoleSessionName"],
            new_secret(),
            scope.clock.now(),
            scope.clock.now() + _role_seconds(scope, role, parameters),
            tags=session_tags(parameters),
        )
        _add_policies(session, parameters)
        return {
            **self._give(session),
            "AssumedRoleUser": {
                "AssumedRoleId": session_user_id(session),
                "Arn": session_arn(session),
            },
        }

    async def get_session_token(self, scope: Scope, parameters: Parameters) -> Result:
        """Return temporary credentials of the user that calls."""
        session = await self._of_caller(scope, "user", "", parameters, "GetSessionToken")
        return self._give(session)

    async def get_federation_token(self, scope: Scope, parameters: Parameters) -> Result:
        """Return credentials of a federated user, who may do what both policies allow."""
        name = parameters["Name"]
        session = await self._of_caller(scope, "federated", name, parameters, "GetFederationToken")
        session.tags = session_tags(parameters)
        _add_policies(session, parameters)
        return {
            **self._give(session),
            "FederatedUser": {
                "FederatedUserId": session_user_id(session),
                "Arn": session_arn(session),
            },
        }

    async def get_access_key_info(self, scope: Scope, parameters: Parameters) -> Result:
        """Return the account of an access key."""
        id = parameters["AccessKeyId"]
        key = (await self._store.refresh()).access_key(id)
        if key is not None:
            return {"Account": key.account}
        if id == scope.access_key:
            return {"Account": scope.account}
        raise _invalid("The access key is not one of this server.")

    async def _of_caller(
        self, scope: Scope, kind: str, name: str, parameters: Parameters, operation: str
    ) -> Session:
        """Return a new session of the user (or root) that calls, which must not be a session."""
        if ":sts:" in scope.principal_arn or scope.access_key.startswith("ASIA"):
            raise AccessDeniedException(f"Cannot call {operation} with session credentials")
        now = scope.clock.now()
        user: Identity | None = None
        if not scope.principal_arn.endswith(":root"):
            user = (await self._store.refresh()).by_arn(scope.principal_arn)
            if user is None:
                raise AccessDeniedException(f"Cannot call {operation} as {scope.principal_arn}")
        seconds = parameters.get("DurationSeconds") or _USER_SECONDS
        return Session(
            kind,
            scope.account,
            "" if user is None else user.name,
            "" if user is None else user.id,
            name,
            new_secret(),
            now,
            now + seconds,
        )

    def _give(self, session: Session) -> Result:
        """Return the credentials of a session as results have them."""
        id = new_access_key_id("ASIA")
        return {
            "Credentials": {
                "AccessKeyId": id,
                "SecretAccessKey": session.secret,
                "SessionToken": seal_session(self._store.vault, id, session),
                "Expiration": datetime.fromtimestamp(int(session.expires_at), UTC),
            },
        }

    def operations(self) -> Mapping[str, Handler]:
        return {
            "AssumeRole": self.assume_role,
            "GetAccessKeyInfo": self.get_access_key_info,
            "GetCallerIdentity": self.get_caller_identity,
            "GetFederationToken": self.get_federation_token,
            "GetSessionToken": self.get_session_token,
        }


def _check_trust(scope: Scope, role: Identity, parameters: Parameters) -> None:
    """Refuse a caller that its own policies or the role's trust policy do not let in."""
    grants = scope.grants
    if grants is None:
        return
    try:
        trust = compile_policy(role.trust, Kind.TRUST, "trust")
    except MalformedPolicyError:
        raise _not_authorized(scope, "sts:AssumeRole", role.arn) from None
    context = TrustContext(scope, grants.principal, parameters)
    actions = ["sts:AssumeRole"]
    if parameters.get("Tags"):
        actions.append("sts:TagSession")
    for action in actions:
        decision = evaluate(grants, action, role.arn, context, trust, role.account)
        if not decision.is_allowed:
            raise _not_authorized(scope, action, role.arn)


def _not_authorized(scope: Scope, action: str, arn: str) -> AccessDeniedException:
    return AccessDeniedException(
        f"User: {scope.principal_arn} is not authorized to perform: {action} on resource: {arn}"
    )


def _role_seconds(scope: Scope, role: Identity, parameters: Parameters) -> int:
    seconds = int(parameters.get("DurationSeconds") or min(_ROLE_SECONDS, role.session_seconds_max))
    if seconds > role.session_seconds_max:
        raise _invalid(
            "The requested DurationSeconds exceeds the MaxSessionDuration set for this role."
        )
    if ":assumed-role/" in scope.principal_arn and seconds > _CHAINED_SECONDS_MAX:
        raise _invalid(
            "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by "
            "role chaining"
        )
    return seconds


def _add_policies(session: Session, parameters: Parameters) -> None:
    """Put the session policies of a request into a session."""
    document = parameters.get("Policy")
    arns: list[dict[str, Any]] = parameters.get("PolicyArns") or []
    if len(arns) > _POLICY_ARNS_MAX:
        raise _invalid(f"A session can have up to {_POLICY_ARNS_MAX} managed policies.")
    session.policy_arns = [entry["arn"] for entry in arns]
    if document is None:
        return
    if len(document) > SESSION_POLICY_CHARACTERS_MAX:
        raise ServiceError("PackedPolicyTooLargeException", "The policy is too large.")
    try:
        compile_policy(document, Kind.SESSION)
    except MalformedPolicyError as error:
        raise ServiceError("MalformedPolicyDocumentException", str(error)) from error
    session.policies = [document]
