# Are the objects of JSON on stdin, one a line, as the manuals say? Each field must be documented there, by a line such as
#     .It Ql ttl_ms Pq integer or null
# of the section JSON, and have one of these types; "version" comes first in an object and never within; nothing is "pending".
# Prints the differences. The names that were seen are appended to the file that is named as the argument, if one is.
#
#     perl tests/live/documented.pl [SEEN] <FILE
use strict;
use warnings;
use JSON::PP;

my (%types, %seen, $bad);
for my $manual (qw(tools/man/redlock.1 tools/man/redlock-admin.1)) {
    open my $file, '<', $manual or die "$manual: $!\n";
    my $inside;
    while (<$file>) {
        $inside = $1 eq 'JSON' if /^\.Sh (.*)/;
        $types{$1}{$_} = 1 for $inside && /^\.It Ql (\w+) Pq (.+)/ ? split / or /, $2 : ();
    }
}
die "the manuals document nothing\n" unless $types{version} && $types{outcome};

sub fault { print "$_[0]: $_"; $bad = 1 }
sub type_of {
    my $value = shift;
    return 'null' unless defined $value;
    return 'list' if ref $value eq 'ARRAY';
    return 'object' if ref $value eq 'HASH';
    return 'boolean' if JSON::PP::is_bool($value);
    my $text = JSON::PP->new->allow_nonref->encode($value);
    return $text =~ /^"/ ? 'string' : $text =~ /^-?\d+$/ ? 'integer' : 'number';
}
sub look {
    my ($value, $depth) = @_;
    if (ref $value eq 'ARRAY') { look($_, $depth + 1) for @$value }
    if (ref $value ne 'HASH') { fault('a vote is pending') if defined $value && $value eq 'pending'; return }
    for my $name (sort keys %$value) {
        my $type = type_of($value->{$name});
        $seen{$name} = 1;
        if (!$types{$name}) { fault("$name is not documented") }
        elsif (!$types{$name}{$type}) { fault("$name is of the type $type, not " . join ' or ', sort keys %{$types{$name}}) }
        fault("$name stands within") if $depth && $name =~ /^(version|command)$/;
        look($value->{$name}, $depth + 1);
    }
}
my $lines = 0;
while (<STDIN>) {
    my $value = eval { decode_json($_) };
    $lines++;
    if (!$value || ref $value ne 'HASH') { fault('no object'); next }
    fault('it does not begin with version, command, and resource or resources')
        unless /^\{"version":1,"command":(null|"[a-z-]+"),"resources?":/;
    fault('neither a status, nor an event, nor a note') unless exists $value->{status} || exists $value->{event} || exists $value->{note};
    look($value, 0);
}
if (@ARGV) {
    open my $file, '>>', $ARGV[0] or die "$ARGV[0]: $!\n";
    print $file "$_\n" for sort keys %seen;
}
print "there is no JSON\n" unless $lines;
exit($bad || !$lines ? 1 : 0);
