(* The plain lock: one resource on one node, its key with a token and an end, its counter of
   tickets, and what the commands do with them. *)
From Coq Require Import List ZArith Lia Bool.
From redlock Require Import clocks quorum exclusion.
Import ListNotations.
Open Scope Z_scope.

Definition token := nat.

(* Ends are times of the node's own clock. *)
Record entry := { holder : token; ends : Z }.
Record count := { largest : Z; forgotten : Z }.
Record state := { key : option entry; counter : option count }.

(* What a command says of its ticket: the number, how long a node remembers it, how far it may be
   ahead of the node's clock. *)
Record ticket := { number : Z; life : Z; skew : Z }.

Inductive event :=
| Acquire (t : token) (ttl : Z) (fence : option ticket) (* plain_acquire.lua, or SET NX PX *)
| Extend (t : token) (ttl : Z)                          (* plain_extend.lua *)
| Restore (t : token) (ttl : Z) (fence : option ticket) (* plain_restore.lua *)
| Release (t : token)                                   (* plain_release.lua *)
| Sweep                         (* The server removes what has ended. *)
| Restart (remembered : state)  (* S11: it may come back with nothing, or with anything old. *)
| Foreign (after : state).      (* FLUSHALL, eviction, DEL, a bare PEXPIRE, a failover unseen. *)

Definition live_key (now : Z) (s : state) : option entry :=
  match key s with Some e => if now <? ends e then Some e else None | None => None end.
Definition live_counter (now : Z) (s : state) : option count :=
  match counter s with Some c => if now <? forgotten c then Some c else None | None => None end.
Definition last_ticket (now : Z) (s : state) : Z :=
  match live_counter now s with Some c => largest c | None => 0 end.

Definition holds_token (now : Z) (s : state) (t : token) : bool :=
  match live_key now s with Some e => Nat.eqb (holder e) t | None => false end.

(* S15: larger than the counter, and not too far ahead of the node's clock (ahead.lua). *)
Definition is_ahead (now : Z) (f : ticket) : bool := now + skew f <? number f.
Definition accepts_ticket (now : Z) (s : state) (fence : option ticket) : bool :=
  match fence with
  | None => true
  | Some f => (last_ticket now s <? number f) && negb (is_ahead now f)
  end.
Definition count_ticket (now : Z) (s : state) (fence : option ticket) : option count :=
  match fence with
  | None => live_counter now s
  | Some f => Some {| largest := number f; forgotten := now + life f |}
  end.

(* The answer that the client counts as granted (S3). *)
Definition grants (now : Z) (s : state) (e : event) : bool :=
  match e with
  | Acquire _ _ fence =>
      match live_key now s with None => accepts_ticket now s fence | Some _ => false end
  | Extend t _ => holds_token now s t   (* S7: only our token. *)
  | _ => false                          (* A restore has no vote. *)
  end.

(* S7: "never shortens". *)
Definition lengthen (now ttl : Z) (t : token) (s : state) : option entry :=
  match live_key now s with
  | Some e => Some {| holder := t; ends := Z.max (ends e) (now + ttl) |}
  | None => Some {| holder := t; ends := now + ttl |}
  end.

Definition may_restore (now : Z) (s : state) (t : token) (fence : option ticket) : bool :=
  match live_key now s with Some e => Nat.eqb (holder e) t | None => true end &&
  match fence with
  | None => true
  | Some f => (number f <=? last_ticket now s) || negb (is_ahead now f)
  end.
Definition count_restored (now : Z) (s : state) (fence : option ticket) : option count :=
  match fence with
  | Some f => if last_ticket now s <? number f then count_ticket now s fence else live_counter now s
  | None => live_counter now s
  end.

Definition step (now : Z) (s : state) (e : event) : state :=
  match e with
  | Acquire t ttl fence =>
      if grants now s e
      then {| key := Some {| holder := t; ends := now + ttl |};
              counter := count_ticket now s fence |}
      else s
  | Extend t ttl =>
      if grants now s e then {| key := lengthen now ttl t s; counter := counter s |} else s
  | Restore t ttl fence =>
      if may_restore now s t fence
      then {| key := lengthen now ttl t s; counter := count_restored now s fence |}
      else s
  | Release t => if holds_token now s t then {| key := None; counter := counter s |} else s
  | Sweep => {| key := live_key now s; counter := live_counter now s |}
  | Restart kept => kept
  | Foreign after => after
  end.

(* A node's history: its clock, its state in the beginning, and each event with the real time at
   which it happened. Any command of any client may come, at any time and any number of times, late,
   lost or twice. *)
Record node := { clock : Z -> Z; first : state; at_time : nat -> Z; does : nat -> event }.

Fixpoint before (n : node) (k : nat) : state :=
  match k with O => first n | S k => step (clock n (at_time n k)) (before n k) (does n k) end.

Definition reads (n : node) (k : nat) : Z := clock n (at_time n k).
Definition granted (n : node) (k : nat) : Prop := grants (reads n k) (before n k) (does n k) = true.

Lemma before_S n k : before n (S k) = step (reads n k) (before n k) (does n k).
Proof. reflexivity. Qed.

(* The command by which a token takes or extends the key for a TTL. *)
Definition takes (e : event) (t : token) (ttl : Z) : Prop :=
  (exists fence, e = Acquire t ttl fence) \/ e = Extend t ttl.

Definition keeps_memory (e : event) : Prop :=
  match e with Restart _ | Foreign _ => False | _ => True end.

Definition key_stands (s : state) (t : token) (until : Z) : Prop :=
  exists e, key s = Some e /\ holder e = t /\ until <= ends e.

Lemma standing_is_live now s t until :
  key_stands s t until -> now < until ->
  exists e, live_key now s = Some e /\ holder e = t /\ until <= ends e.
Proof.
  intros [e [Hk [Ht He]]] Hn. exists e. unfold live_key. rewrite Hk.
  destruct (Z.ltb_spec now (ends e)); [auto|lia].
Qed.

(* A grant sets the key for the whole TTL at least. *)
Lemma grant_sets_key now s e t ttl :
  takes e t ttl -> grants now s e = true -> key_stands (step now s e) t (now + ttl).
Proof.
  intros [[fence ->]| ->] H; unfold step; rewrite H; unfold key_stands; simpl.
  - eexists; split; [reflexivity|simpl; lia].
  - unfold lengthen. destruct (live_key now s); eexists; (split; [reflexivity|simpl; lia]).
Qed.

(* S3, S7: no command of anybody takes away a key that has not ended, except a release by its own
   token. *)
Lemma step_keeps_key now s e t until :
  key_stands s t until -> now < until -> keeps_memory e -> e <> Release t ->
  key_stands (step now s e) t until.
Proof.
  intros Hs Hn Hm Hr. destruct (standing_is_live _ _ _ _ Hs Hn) as [k [Hl [Ht He]]].
  destruct e as [t' ttl fence|t' ttl|t' ttl fence|t'| |kept|after]; simpl in *; try contradiction.
  - rewrite Hl. assumption.
  - unfold holds_token. rewrite Hl. destruct (Nat.eqb_spec (holder k) t'); [|assumption].
    unfold lengthen, key_stands. rewrite Hl. simpl. eexists. split; [reflexivity|]. simpl.
    split; [congruence|lia].
  - unfold may_restore. rewrite Hl. destruct (Nat.eqb_spec (holder k) t'); simpl; [|assumption].
    destruct (match fence with None => true | Some f => _ end); [|assumption].
    unfold lengthen, key_stands. rewrite Hl. simpl. eexists. split; [reflexivity|]. simpl.
    split; [congruence|lia].
  - unfold holds_token. rewrite Hl. destruct (Nat.eqb_spec (holder k) t'); [congruence|assumption].
  - unfold key_stands. exists k. auto.
Qed.

(* The promise of a node. While nothing makes it forget, no release of the token comes, and the TTL
   has not run out by its own clock, the key stands. *)
Lemma node_keeps_key n i j t ttl :
  takes (does n i) t ttl -> granted n i -> (i < j)%nat ->
  (forall k, (i < k < j)%nat -> keeps_memory (does n k) /\ does n k <> Release t /\
    reads n k < reads n i + ttl) ->
  key_stands (before n j) t (reads n i + ttl).
Proof.
  intros Ht Hg Hij. induction Hij as [|j Hij IH]; intros H; rewrite before_S.
  - apply grant_sets_key; assumption.
  - destruct (H j) as [Hm [Hr Hn]]; [lia|]. apply step_keeps_key; try assumption. apply IH.
  intros k Hk. apply H. lia.
Qed.

(* So nobody else is granted it meanwhile. *)
Lemma node_grants_once n i j t t' ttl ttl' :
  takes (does n i) t ttl -> granted n i -> takes (does n j) t' ttl' -> granted n j -> (i < j)%nat ->
    t <> t' ->
  (forall k, (i < k < j)%nat -> keeps_memory (does n k) /\ does n k <> Release t) ->
  (forall k, (i < k <= j)%nat -> reads n k < reads n i + ttl) -> False.
Proof.
  intros Ht Hg Ht' Hg' Hij Hne H Hn.
  assert (Hs : key_stands (before n j) t (reads n i + ttl)).
  { apply node_keeps_key; try assumption. intros k Hk. destruct (H k Hk).
  repeat split; try assumption. apply Hn. lia. }
  destruct (standing_is_live (reads n j) _ _ _ Hs) as [e [Hl [He _]]]; [apply Hn; lia|].
  unfold granted in Hg'. destruct Ht' as [[fence E]|E]; rewrite E in Hg'; simpl in Hg'.
  - rewrite Hl in Hg'. discriminate.
  - unfold holds_token in Hg'. rewrite Hl in Hg'. apply Nat.eqb_eq in Hg'. congruence.
Qed.

(* ---- The kind ---- *)

Definition plain : kind := {|
  history := node; claim := token; clock_of := clock; time_of := at_time;
  gives := fun n k t ttl => takes (does n k) t ttl /\ granted n k;
  takes_back := fun n k t => does n k = Release t;
  restarts := fun n k => exists remembered, does n k = Restart remembered;
  is_disturbed := fun n k => exists after, does n k = Foreign after;
  rivals := fun a b => a <> b
|}.

Ltac as_plain := change (time_of plain) with at_time in *; change (clock_of plain) with clock in *.

Theorem plain_is_sound : sound plain.
Proof.
  split; [intros a b; simpl; auto|]. split.
  - intros n k a b ttl ttl' [Ta _] [Tb _] Hne. simpl in *.
    destruct Ta as [[f Ta]|Ta], Tb as [[g Tb]|Tb]; rewrite Ta in Tb; inversion Tb; congruence.
  - intros n i j a b ttl ttl' [Ti Gi] [Tj Gj] Hij Hne H Hn. simpl in *.
    apply (node_grants_once n i j a b ttl ttl'); try assumption.
    intros k Hk. destruct (H k Hk) as [Hr [Hf Hb]]. split; [|assumption].
    destruct (does n k) eqn:E; simpl; try exact I; [apply Hr|apply Hf]; eauto.
Qed.

(* At any time, by any clients, in any schedule, at most one token is held. *)
Theorem mutual_exclusion (w : world plain) a b now :
  in_order w -> clocks_run_right w [] -> undisturbed w [] -> releases_are_own w [] ->
  held w [] (quorum_of (node_count w)) a now -> held w [] (quorum_of (node_count w)) b now -> a = b.
Proof.
  intros Ho Hc Hu Hr Ha Hb. destruct (Nat.eq_dec a b) as [|Hne]; [assumption|exfalso].
  exact (redlock_excludes plain w a b now plain_is_sound Ho Hc Hu Hr Ha Hb Hne).
Qed.

(* S7, S9: an extension that is lost, comes late, or is shorter takes nothing from what was
   promised. While a promise lasts, its key stands on each node that granted it and has not
   restarted, whatever else was executed. *)
Theorem promised_key_stands (w : world plain) bad quorum r now n i j :
  in_order w -> clocks_run_right w bad -> undisturbed w bad -> releases_are_own w bad ->
  won w bad quorum r -> promises w r now -> In (n, i) (grants_counted r) -> good bad n ->
    (i < j)%nat ->
  at_time (nodes w n) j <= now ->
  (forall k kept, (i < k < j)%nat -> does (nodes w n) k <> Restart kept) ->
  key_stands (before (nodes w n) j) (signed r) (reads (nodes w n) i + ttl r).
Proof.
  intros Ho Hc Hu Hr Wr Pr Hin Hg Hij Hj Hk. pose proof Wr as [[_ V] _].
  destruct (V n i Hin) as [_ [[Ti Gi] _]].
  apply node_keeps_key; try assumption. intros k Hb.
  pose proof (Ho n i k ltac:(lia)). pose proof (Ho n k j ltac:(lia)). simpl in *. split; [|split].
  - destruct (does (nodes w n) k) eqn:Ek; simpl; try exact I; [exact (Hk k _ Hb Ek)|].
    apply (Hu n k Hg). simpl. eauto.
  - apply (promise_is_not_released w bad Hr r now n k Pr Hg). simpl. lia.
  - apply (key_outlives_promise w bad quorum Hc r now n i); try assumption. simpl. lia.
Qed.
